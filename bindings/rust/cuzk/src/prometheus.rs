//! Reads Prometheus' text format, as far as the library writes it.
//! Source: Prometheus documentation, "Exposition formats", version 0.0.4.

use std::borrow::Cow;

/// One line: a name, labels, a value.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample<'a> {
    pub name: &'a str,
    labels: Vec<(&'a str, Cow<'a, str>)>,
    pub value: f64,
}

impl Sample<'_> {
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        let (_, value) = self.labels.iter().find(|(label, _)| *label == name)?;
        Some(value)
    }

    /// The value of what is counted in whole numbers, exact up to 2^53.
    pub(crate) fn count(&self) -> u64 {
        self.value as u64
    }
}

/// All samples, or the first line that is none.
pub(crate) fn parse(text: &str) -> Result<Vec<Sample<'_>>, &str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| sample(line).ok_or(line))
        .collect()
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.trim().parse().ok()?;
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// Names and values.
type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// Labels up to the closing brace, and what comes after it.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut all = Vec::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((all, rest));
        }
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        all.push((name, value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// A text up to its closing quotation mark, and what comes after it. A
/// backslash stands before a quotation mark or a backslash that belongs to it,
/// and `\n` is a newline.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut end = 0;
    let bytes = text.as_bytes();
    while *bytes.get(end)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let (value, rest) = (text.get(..end)?, text.get(end + 1..)?);
    if !value.contains('\\') {
        return Some((value.into(), rest));
    }
    let mut plain = String::with_capacity(value.len());
    let mut escaped = false;
    for c in value.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            'n' if escaped => plain.push('\n'),
            c => plain.push(c),
        }
        escaped = false;
    }
    Some((plain.into(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_hold_anything() {
        for (line, label) in [
            (r#"a{x="plain"} 1"#, "plain"),
            (r#"a{x=""} 1"#, ""),
            (r#"a{x="2 \"inches\", {wide}"} 1"#, r#"2 "inches", {wide}"#),
            (r#"a{x="back\\slash"} 1"#, r"back\slash"),
            (r#"a{x="not a newline: \\n"} 1"#, r"not a newline: \n"),
            (r#"a{x="two\nlines"} 1"#, "two\nlines"),
            (r#"a{w="é",x="ü\"",y="z"} 1"#, "ü\""),
        ] {
            let sample = sample(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((sample.name, sample.label("x")), ("a", Some(label)));
            assert_eq!(sample.label("none"), None);
        }
    }

    #[test]
    fn values_are_numbers() {
        for (line, value, count) in [
            ("a 0", 0.0, 0),
            ("a{} 2.5", 2.5, 2),
            (r#"a{x="y"} 1.7179869184e+10"#, 17_179_869_184.0, 16 << 30),
            ("a +Inf", f64::INFINITY, u64::MAX),
        ] {
            let sample = sample(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((sample.value, sample.count()), (value, count), "{line}");
        }
    }

    #[test]
    fn what_is_no_sample_is_named() {
        assert_eq!(parse("# a comment\n\na 1\n").unwrap().len(), 1);
        for line in [
            "a",
            "a b",
            r#"a{x="y 1"#,
            r#"a{x="y\"#,
            "a{x=1} 1",
            "a{x} 1",
        ] {
            assert_eq!(parse(&format!("b 1\n{line}\n")), Err(line));
        }
    }
}
