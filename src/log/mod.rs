mod mark;
