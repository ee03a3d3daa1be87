//! HTML as Markdown.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use html2text::config;
use html2text::render::TextDecorator;
use pinfold::{Failure, RefusalCode};
use pinfold_host::WebUrl;

use super::clean::{Cleaned, clean};

/// Time that reading one page may take, however much of the call's time is left.
const CONVERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// Lines are broken here; a paragraph has fewer letters.
const WIDTH: usize = 5000;

/// The longest address that a link keeps.
const MAX_LINK_LEN: usize = 1000;

/// A page as Markdown.
pub(super) struct MarkdownPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Reads a page that came from `base`.
///
/// # Errors
/// When it takes too long.
pub(super) fn parse_html(html: &str, base: &WebUrl, until: Instant) -> Result<MarkdownPage, Failure> {
    let until = until.min(Instant::now() + CONVERSION_TIMEOUT);
    let too_much = || {
        let message = format!("{base} is HTML that takes too long to read");
        Failure::plain(RefusalCode::TooLarge, message, "find a simpler page")
    };
    let base_url = url::Url::parse(&base.to_string()).ok();
    let link = |text: &str| {
        let url = base_url.as_ref()?.join(text.trim()).ok()?;
        let known = matches!(url.scheme(), "http" | "https" | "mailto");
        let fits = url.as_str().len() <= MAX_LINK_LEN;
        (known && fits).then(|| url.as_str().replace(['(', ')', '"', '<', '>'], ""))
    };
    let Cleaned { html, title } = clean(html, link, until).ok_or_else(too_much)?;
    let clocked = DeadlineReader { rest: html.as_bytes(), until };
    let written = config::with_decorator(Markdown::default())
        .link_footnotes(false)
        .allow_width_overflow()
        .string_from_read(clocked, WIDTH)
        .map_err(|_| too_much())?;
    let title = title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(MarkdownPage { title: title.filter(|title| !title.is_empty()), text: tidy(&written) })
}

/// Lines without blanks at their ends, and one empty line where there are several.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && empty {
            continue;
        }
        empty = line.is_empty();
        tidy.push_str(line);
        tidy.push('\n');
    }
    tidy
}

/// Bytes until the time is over.
struct DeadlineReader<'a> {
    rest: &'a [u8],
    until: Instant,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.rest.read(buffer)
    }
}

/// Writer of Markdown.
#[derive(Clone, Default)]
struct Markdown {
    links: Vec<String>,
}

impl TextDecorator for Markdown {
    type Annotation = ();

    fn decorate_link_start(&mut self, url: &str) -> (String, ()) {
        self.links.push(url.to_owned());
        ("[".to_owned(), ())
    }

    fn decorate_link_end(&mut self) -> String {
        format!("]({})", self.links.pop().unwrap_or_default())
    }

    fn decorate_em_start(&self) -> (String, ()) {
        ("*".to_owned(), ())
    }

    fn decorate_em_end(&self) -> String {
        "*".to_owned()
    }

    fn decorate_strong_start(&self) -> (String, ()) {
        ("**".to_owned(), ())
    }

    fn decorate_strong_end(&self) -> String {
        "**".to_owned()
    }

    fn decorate_strikeout_start(&self) -> (String, ()) {
        ("~~".to_owned(), ())
    }

    fn decorate_strikeout_end(&self) -> String {
        "~~".to_owned()
    }

    fn decorate_code_start(&self) -> (String, ()) {
        ("`".to_owned(), ())
    }

    fn decorate_code_end(&self) -> String {
        "`".to_owned()
    }

    fn decorate_preformat_first(&self) {}

    fn decorate_preformat_cont(&self) {}

    fn decorate_image(&mut self, src: &str, title: &str) -> (String, ()) {
        (format!("![{title}]({src})"), ())
    }

    fn header_prefix(&self, level: usize) -> String {
        "#".repeat(level) + " "
    }

    fn quote_prefix(&self) -> String {
        "> ".to_owned()
    }

    fn unordered_item_prefix(&self) -> String {
        "* ".to_owned()
    }

    fn ordered_item_prefix(&self, i: i64) -> String {
        format!("{i}. ")
    }

    fn make_subblock_decorator(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(html: &str) -> Result<String, Failure> {
        let base = WebUrl::parse("https://example.org/docs/page?x").unwrap();
        parse_html(html, &base, Instant::now() + Duration::from_mins(1)).map(|found| found.text)
    }

    #[test]
    fn what_means_something_stays() {
        for (html, text) in [
            ("<h1>Hi <b>bold</b></h1><p>one &amp; two", "# Hi **bold**\n\none & two\n"),
            ("<a href='../x?y#z'>link <em>em</em></a>", "[link *em*](https://example.org/x?y#z)\n"),
            ("<a href='javascript:alert(1)'>x</a><a href='data:text/html,x'>y</a>", "xy\n"),
            ("<ul><li>one<li>two<ul><li>three</ul></ul>", "* one\n* two\n  * three\n"),
            ("<ol><li>a<li>b</ol>", "1. a\n2. b\n"),
            (
                "<pre><code class=x>fn x() {\n    y &lt; z\n}</code></pre>",
                "```\nfn x() {\n    y < z\n}\n```\n",
            ),
            ("<p>inline <code>code</code>", "inline `code`\n"),
            ("<blockquote>quoted<p>more</blockquote>", "> quoted\n>\n> more\n"),
            ("<table><tr><th>A<th>B<tr><td>1<td><p>2</p></table>", "| A | B |\n| --- | --- |\n| 1 | 2 |\n"),
            (
                "<img src=a.png alt='a picture'><img src=b.png>",
                "![a picture](https://example.org/docs/a.png)\n",
            ),
            ("<title>T</title><style>p{}</style><script>if (a<b) '</p>'</script>text<!-- no -->", "text\n"),
            ("<p>a<br>b<hr>c", "a\nb\n\n---\nc\n"),
            ("<noscript>needs no script</noscript>", "needs no script\n"),
            ("<textarea><b>x</textarea>y", "y\n"),
            ("&lt;script&gt; &notit; &#0; &#x110000;", "<script> ¬it; \u{fffd} \u{fffd}\n"),
        ] {
            assert_eq!(read(html).unwrap(), text, "{html}");
        }
    }

    #[test]
    fn a_hostile_page_ends_in_time() {
        let many = |text: &str, n: usize| text.repeat(n) + "x";
        let attributes: String = (0..200_000).map(|i| format!("a{i} ")).collect();
        for (name, html) in [
            ("div", many("<div>", 100_000)),
            ("b", many("<b>", 100_000)),
            ("ul", many("<ul><li>", 100_000)),
            ("quote", many("<blockquote>", 100_000)),
            ("table", many("<table><tr><td>", 100_000)),
            ("a", many("<a href=x><div>", 50_000)),
            ("svg", many("<svg><g>", 100_000)),
            ("template", many("<template>", 100_000)),
            ("select", many("<select><option>", 100_000)),
            ("misnested", many("<b><i></b></i><table><b><i>", 20_000)),
            ("pre", many("<pre>", 100_000)),
            ("cells", many("<table><tr><td colspan=999999999 rowspan=65534>x", 30_000)),
            (
                "numbers",
                "<ol start=9223372036854775807><li>x<li>y<ol start=-9223372036854775808><li>z".to_owned(),
            ),
            ("closed", many("</div></b></p>", 100_000)),
            ("unclosed", many("<p>x<li>y", 50_000)),
            ("open tag", many("<a ", 100_000)),
            ("open comment", format!("<!--{}", many("-", 200_000))),
            ("attributes", format!("<p {attributes}>x")),
            ("one line", many("x", 1_000_000)),
            ("marks", many("\u{301}\u{200b}", 100_000)),
        ] {
            let start = Instant::now();
            if let Err(failure) = read(&html) {
                assert_eq!(failure.code, RefusalCode::TooLarge, "{name}");
            }
            // A busy machine is slow, and a debug build too; what is quadratic takes minutes.
            assert!(start.elapsed() < 4 * CONVERSION_TIMEOUT, "{name}: {:?}", start.elapsed());
        }
    }

    proptest! {
        #[test]
        fn any_page_is_survived(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "<p>", "</p>", "<table>", "<tr>", "<td>", "<th>", "</table>", "<ul>", "<li>", "</ul>", "<ol start=5>",
                    "<a href=x>", "</a>", "<b>", "</b>", "<pre>", "</pre>", "<code>", "<h1>", "</h1>", "<br>", "<hr>", "<img alt=a src=b>",
                    "<blockquote>", "</blockquote>", "<svg>", "<math>", "<script>", "</script>", "<title>", "</title>", "<select>",
                    "<dl>", "<dt>", "<dd>", "text", " ", "\n", "&amp;", "&#", "<", ">", "<!--", "-->", "ü\u{301}", "\u{200b}", "\t",
                ]),
                0..60,
            ),
            rest in "\\PC{0,40}",
        ) {
            let html = parts.concat() + &rest;
            prop_assert!(read(&html).is_ok(), "{}", html);
        }
    }
}
