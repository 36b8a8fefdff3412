#![doc = "The `causelog` command."]
fn main() {}
