//! One picture: events come one by one, causes first, and each gets its rows.
//!
//! Invariants:
//! - A column holds the line of one event, from its node down to the last event that names it. No event's line has two
//!   columns.
//! - Between two nodes there is one row for each line that changes its column, so that every edge can be read back:
//!   a row has one `/` or `\`, and `_` leads from its lower end to the column that it comes from.
//! - `o` is a node that no line leads to. `*` continues the line above it where the first row between shows one, or
//!   where there is no row between.
//! - Memory: the columns, at most [`COLUMNS_MAX`]. What finds none is not drawn, and counted.

/// Most lines that stand beside each other.
pub(crate) const COLUMNS_MAX: usize = 24;

/// A line that goes on.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The event that it starts at, by a number of the caller's.
    event: u64,
    /// How many events to come name it.
    uses: u32,
}

/// What was drawn of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// Rows of lines above its own.
    pub(crate) rows: Vec<String>,
    /// The start of its own row.
    pub(crate) node: String,
    /// Causes to which no line leads.
    pub(crate) causes_left_out: usize,
    /// Events to come that name it, to which no line will lead.
    pub(crate) uses_left_out: u32,
}

/// The lines that are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    columns: Vec<Option<Line>>,
}

impl Picture {
    /// Draws the next event. `causes` are events, each once, that were drawn before or stand outside of the picture; `uses`
    /// says how many events to come will name this one.
    pub(crate) fn draw(&mut self, event: u64, causes: &[u64], uses: u32) -> Drawn {
        let mut drawn = Drawn::default();
        let mut sources: Vec<usize> = causes.iter().filter_map(|cause| self.column_of(*cause)).collect();
        drawn.causes_left_out = causes.len() - sources.len();
        let is_over = |picture: &Self, source: &usize| {
            picture.columns.get(*source).copied().flatten().is_some_and(|line| line.uses == 0)
        };
        for source in &sources {
            if let Some(Some(line)) = self.columns.get_mut(*source) {
                line.uses = line.uses.saturating_sub(1);
            }
        }
        // It goes on where a line ends in it, else where there is room.
        let own = sources.iter().copied().filter(|source| is_over(self, source)).min();
        let own = own.unwrap_or_else(|| self.free());
        let is_root = sources.is_empty();
        sources.retain(|source| *source != own);
        // Near ones first: those further away then cross fewer lines.
        sources.sort_by_key(|source| source.abs_diff(own));
        let mut leads_here = self.is_open(own);
        for source in sources {
            if is_over(self, &source) {
                self.set(source, None);
            }
            drawn.rows.push(self.row_between(source, own, leads_here));
            leads_here = true;
        }
        self.set(own, None);
        drawn.node = self.row(own, if is_root { 'o' } else { '*' });
        if uses > 0 && own < COLUMNS_MAX {
            self.set(own, Some(Line { event, uses }));
        } else {
            drawn.uses_left_out = uses;
        }
        drawn
    }

    fn column_of(&self, event: u64) -> Option<usize> {
        self.columns.iter().position(|line| line.is_some_and(|line| line.event == event))
    }

    fn is_open(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(Option::is_some)
    }

    /// Returns the first column without a line; the one behind the last that may have one where there is none.
    fn free(&self) -> usize {
        self.columns.iter().position(Option::is_none).unwrap_or(self.columns.len())
    }

    fn set(&mut self, column: usize, line: Option<Line>) {
        if column >= self.columns.len() && line.is_some() {
            self.columns.resize(column + 1, None);
        }
        if let Some(slot) = self.columns.get_mut(column) {
            *slot = line;
        }
        while self.columns.last().is_some_and(Option::is_none) {
            self.columns.pop();
        }
    }

    /// The lines that go straight on, with room for a mark at a column.
    fn straight(&self, column: usize) -> Vec<char> {
        let width = 2 * self.columns.len().max(column + 1);
        let line = |at: usize| if at.is_multiple_of(2) && self.is_open(at / 2) { '|' } else { ' ' };
        (0..width).map(line).collect()
    }

    /// A row in which the line of one column leads to another.
    fn row_between(&self, from: usize, to: usize, leads_there: bool) -> String {
        let mut row = self.straight(from.max(to));
        if let Some(below) = row.get_mut(2 * to).filter(|_| leads_there) {
            *below = '|';
        }
        let (left, right) = (2 * from.min(to) + 1, 2 * from.max(to) - 1);
        for at in row.iter_mut().take(right).skip(left).filter(|at| **at == ' ') {
            *at = '_';
        }
        if let Some(end) = row.get_mut(right) {
            *end = if from > to { '/' } else { '\\' };
        }
        text(row)
    }

    /// A row with a node.
    fn row(&self, column: usize, node: char) -> String {
        let mut row = self.straight(column);
        if let Some(at) = row.get_mut(2 * column) {
            *at = node;
        }
        text(row)
    }
}

fn text(row: Vec<char>) -> String {
    let text: String = row.into_iter().collect();
    text.trim_end().to_owned()
}
