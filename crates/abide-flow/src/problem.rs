//! What is wrong with a document: where, what, and what was probably meant.

use std::fmt;

use serde::Serialize;

/// A place in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// In characters from 1.
    pub column: usize,
}

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where it is.
    #[serde(flatten)]
    pub position: Position,
    /// The field: `steps.reserve.http.url`. Empty for the whole document.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right, when there is a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    /// `line:column: message; hint`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{line}:{column}: {}", self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

/// How much of a long line is shown to either side of the caret, in characters.
const SHOWN: usize = 60;

impl Problem {
    /// The problem for people: `file:line:column: message`, the line, and a caret below the place.
    #[must_use]
    pub fn show(&self, file: &str, text: &str) -> String {
        let Position { line, column } = self.position;
        let mut shown = format!("{file}:{line}:{column}: {}\n", self.message);
        let source = text.lines().nth(line - 1).unwrap_or("");
        let first = column.saturating_sub(SHOWN + 1);
        let part: Vec<char> = source.chars().skip(first).take(2 * SHOWN).collect();
        // Tabs and control characters would move the caret away from its place.
        let clean = |c: &char| if c.is_control() { ' ' } else { *c };
        let gutter = line.to_string();
        let margin = " ".repeat(gutter.len());
        let cut = if first > 0 { "…" } else { "" };
        let part: String = part.iter().map(clean).collect();
        let before = " ".repeat(column - 1 - first + cut.chars().count());
        shown += &format!(" {gutter} | {cut}{part}\n {margin} | {before}^\n");
        if let Some(hint) = &self.hint {
            shown += &format!(" {margin} = {hint}\n");
        }
        shown
    }
}

/// All problems of a document for people, in its order.
#[must_use]
pub fn report(file: &str, text: &str, problems: &[Problem]) -> String {
    problems.iter().map(|problem| problem.show(file, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: usize, column: usize, hint: Option<&str>) -> Problem {
        let position = Position { line, column };
        let (path, message, hint) = (String::new(), "it is wrong".to_owned(), hint.map(Into::into));
        Problem { position, path, message, hint }
    }

    #[test]
    fn a_problem_is_shown_with_its_line_and_a_caret() {
        let shown = problem(2, 4, Some("try b")).show("order.yaml", "a: 1\n\tb: c\n");
        let expect = "order.yaml:2:4: it is wrong\n 2 |  b: c\n   |    ^\n   = try b\n";
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let shown = problem(1, 501, None).show("f", &text);
        let lines: Vec<Vec<char>> = shown.lines().map(|line| line.chars().collect()).collect();
        let caret = lines[2].iter().position(|c| *c == '^').unwrap();
        assert_eq!(lines[1][caret], 'X');
        assert!(lines[1].len() < 200);
    }

    #[test]
    fn a_place_behind_the_end_is_shown_too() {
        let shown = problem(3, 1, None).show("f", "a\nb\n");
        assert!(shown.ends_with(" 3 | \n   | ^\n"), "{shown}");
    }
}
