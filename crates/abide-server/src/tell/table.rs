//! Columns for people: aligned, coloured cell by cell, without lines between them.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table as Layout};

use super::clean;
use crate::paint::Paint;

/// What is in a column of a row.
pub(crate) struct Cell {
    text: String,
    colour: fn(Paint, &str) -> String,
}

impl Cell {
    pub(crate) fn coloured(text: impl AsRef<str>, colour: fn(Paint, &str) -> String) -> Self {
        Self { text: clean(text.as_ref()).trim().to_owned(), colour }
    }

    pub(crate) fn dim(text: impl AsRef<str>) -> Self {
        Self::coloured(text, Paint::dim)
    }

    pub(crate) fn bold(text: impl AsRef<str>) -> Self {
        Self::coloured(text, Paint::bold)
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::coloured(text, |_, text| text.to_owned())
    }
}

/// See the module.
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(Cell::dim).collect()] }
    }

    pub(crate) fn without_heading() -> Self {
        Self { rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Every row as a line.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let mut layout = Layout::new();
        layout.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        for row in &self.rows {
            layout.add_row(row.iter().map(|cell| &cell.text));
        }
        layout.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
        let lines = layout.lines().zip(&self.rows);
        lines.map(|(line, row)| format!("{}\n", colour(&line, row, paint).trim_end())).collect()
    }
}

/// Colours cells where they stand. Layout goes first, because it would count colours as text.
fn colour(line: &str, row: &[Cell], paint: Paint) -> String {
    let (mut coloured, mut rest) = (String::new(), line);
    for cell in row.iter().filter(|cell| !cell.text.is_empty()) {
        // Only spaces stand before the next cell, so the first place is the right one.
        let Some((before, after)) = rest.split_once(cell.text.as_str()) else { break };
        coloured += before;
        coloured += &(cell.colour)(paint, &cell.text);
        rest = after;
    }
    coloured + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_colours_change_nothing_about_that() {
        let mut table = Table::new(&["ID", "STATUS"]);
        table.row(vec!["a".into(), Cell::coloured("waiting", Paint::yellow)]);
        table.row(vec!["a-long-id".into(), "".into()]);
        table.row(vec!["ü\n".into(), "x".into()]);
        let plain = table.render(Paint::plain());
        assert_eq!(plain, "ID         STATUS\na          waiting\na-long-id\nü          x\n");
        let coloured = table.render(Paint::always());
        assert!(coloured.contains("\na          \x1b[33mwaiting\x1b[0m\n"), "{coloured:?}");
    }
}
