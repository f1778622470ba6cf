//! Measures how deeply a source nests, in one pass before a recursive parser sees it.
//!
//! The scanner has no grammar. It distinguishes strings, comments, templates and regular expressions from code, follows
//! the brackets, and counts tokens where nesting needs no bracket: within one statement or list item, a parser can
//! recurse no deeper than there are tokens (`!!!!x`, `a?b:c?d:e`, `x=>x=>x`, `if(a)if(b)`). So the sum over the open
//! brackets bounds the depth of the parser's recursion and that of the tree.

use codemode_spec::limits::{SOURCE_NESTING_MAX, SOURCE_TOKENS_MAX};

/// The most tokens on the path from the outermost statement to the innermost. A longer statement does not occur in real
/// scripts, and would use too much of the host's stack.
const TOKENS_MAX: usize = 50_000;
/// The most characters that could nest in a source that the scanner may have misread.
const UNSURE_NESTING_MAX: usize = 150_000;
/// The most bytes that a parser may re-read. At `(a=` it tries an arrow function's parameters first; if that fails, it
/// goes back and reads everything again, on every level.
const REREAD_BYTES_MAX: usize = 4 << 20;
/// The same for a TypeScript parser, which tries to read type arguments at every `a<`. The memory of its failed
/// attempts is not released until the end.
const TYPES_REREAD_BYTES_MAX: usize = 2 << 20;
/// Up to this depth, a parser stays within the stack of an ordinary thread; a test proves it.
pub(super) const SHALLOW_BRACKETS_MAX: usize = 64;
/// Up to this number of tokens, a parser stays within the stack of an ordinary thread; a test proves it.
pub(super) const SHALLOW_TOKENS_MAX: usize = 800;

/// The result of a scan.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// The depth of brackets.
    pub brackets: usize,
    /// The most tokens on the path to an innermost token.
    pub tokens: usize,
    /// Whether the reading of the source was ambiguous, as at a slash after a brace.
    pub unsure: bool,
    /// The offset of the first byte of code, after space and comments.
    pub first: Option<usize>,
    /// The offset of the last byte of code.
    pub last: usize,
    /// Whether `import` or `export` occurs as a word in code.
    pub module_words: bool,
    /// The depth of brackets in regular expressions.
    pub pattern_brackets: usize,
    /// Bytes that a TypeScript parser may re-read.
    types_reread: usize,
}

/// The source exceeds a limit on nesting.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooNested {
    /// The byte offset at which it does.
    pub offset: usize,
    /// The limit that was exceeded.
    pub how: &'static str,
}

const BRACKETS: &str = "there are too many brackets within each other";
const TOKENS: &str = "a single statement goes on for too long";
const REREAD: &str = "there is too much code within nested parentheses";
/// Not a limit on nesting, but on the memory of the syntax tree.
pub(super) const LENGTH: &str = "there are too many words and signs";

impl Scan {
    /// Whether the source can be parsed and walked on the caller's stack.
    pub fn is_shallow(&self) -> bool {
        !self.unsure && self.brackets <= SHALLOW_BRACKETS_MAX && self.tokens <= SHALLOW_TOKENS_MAX
    }

    /// Whether the source can be parsed as TypeScript in acceptable time.
    pub fn is_fit_for_types(&self) -> bool {
        self.types_reread <= TYPES_REREAD_BYTES_MAX
    }
}

/// Scans a source.
///
/// # Errors
/// When it has more than [`SOURCE_TOKENS_MAX`] tokens, nests deeper than [`SOURCE_NESTING_MAX`] brackets or deeper than
/// [`TOKENS_MAX`] without brackets, or has so much code in possible parameters of arrow functions that parsing it would
/// take too long.
pub(super) fn scan(source: &str) -> Result<Scan, TooNested> {
    Scanner { source, bytes: source.as_bytes(), levels: vec![Level::new(b'\0')], ..Scanner::default() }.run()
}

/// The state of the scan between two brackets.
#[derive(Debug)]
struct Level {
    /// The opening bracket; `$` for a template's `${`.
    open: u8,
    /// Whether it is the head of an `if` or a loop, after which a statement starts.
    head: bool,
    /// Its offset, if it may be the parameters of an arrow function.
    parameters: Option<usize>,
    /// Tokens since the last comma.
    tokens: usize,
    /// The most tokens between two commas of this statement; an `else` continues from this count.
    peak: usize,
    /// The peak of the statement that has just ended, which an `else` may continue.
    ended: usize,
    /// The number of `<` that may be open type arguments, which a comma does not end.
    angles: usize,
    /// The offset up to which their re-reading has been counted.
    counted: usize,
}

impl Level {
    fn new(open: u8) -> Self {
        Self { open, head: false, parameters: None, tokens: 0, peak: 0, ended: 0, angles: 0, counted: 0 }
    }
}

/// The meaning of the previous token for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Prev {
    /// An operator, or the start: an operand follows.
    #[default]
    Operator,
    /// `.` or `?.`: a name follows, even a reserved word.
    Dot,
    /// An operand: an operator or the end of the statement follows.
    Operand,
    /// The head of a statement, such as `if (…)`: a statement follows.
    Head,
    /// `}`: anything may follow.
    Brace,
    /// A word before an operand.
    Word,
    /// `if`, `while` or `with`, or `await` after `for`.
    HeadWord,
    /// `for`, after which `await` is part of the head.
    For,
}

#[derive(Default)]
struct Scanner<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    levels: Vec<Level>,
    /// The sum of the peaks of all levels but the innermost.
    outer: usize,
    prev: Prev,
    newline: bool,
    reread: usize,
    /// Tokens of the whole source.
    read: usize,
    found: Scan,
}

impl Scanner<'_> {
    fn run(mut self) -> Result<Scan, TooNested> {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if self.space(byte) || self.comment(byte) {
                continue;
            }
            self.found.first.get_or_insert(self.at);
            let begin = self.at;
            self.read += 1;
            if self.read > SOURCE_TOKENS_MAX {
                return Err(TooNested { offset: begin, how: LENGTH });
            }
            match byte {
                b'(' | b'[' | b'{' => self.open(byte)?,
                b')' | b']' | b'}' => {
                    if !self.close(byte)? {
                        // The parser stops here as well.
                        self.found.last = begin;
                        break;
                    }
                }
                b'"' | b'\'' => {
                    self.string(byte);
                    self.operand()?;
                }
                b'`' => {
                    self.at += 1;
                    self.operand()?;
                    self.template()?;
                }
                b'/' => self.slash()?,
                b'0'..=b'9' => {
                    self.number();
                    self.operand()?;
                }
                _ if is_word(byte) => self.word()?,
                _ => self.punctuator(byte)?,
            }
            self.found.last = self.at.saturating_sub(1).max(begin);
            self.newline = false;
        }
        while let Some(level) = self.levels.last() {
            let parameters = level.parameters;
            self.count_types();
            self.levels.pop();
            self.reread(parameters)?;
        }
        if self.found.unsure {
            // Misread code may hide any nesting: limit it to what a stack can take.
            let nests = |byte: &&u8| !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace();
            if self.bytes.iter().filter(nests).count() > UNSURE_NESTING_MAX {
                return Err(TooNested { offset: 0, how: BRACKETS });
            }
        }
        Ok(self.found)
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost level is never closed")
    }

    /// Counts a token.
    fn token(&mut self) -> Result<(), TooNested> {
        let offset = self.at;
        let outer = self.outer;
        let level = self.level();
        level.tokens += 1;
        level.peak = level.peak.max(level.tokens);
        level.ended = 0;
        let total = outer + level.peak;
        self.found.tokens = self.found.tokens.max(total);
        if total > TOKENS_MAX { Err(TooNested { offset, how: TOKENS }) } else { Ok(()) }
    }

    fn operand(&mut self) -> Result<(), TooNested> {
        self.prev = Prev::Operand;
        self.token()
    }

    /// Ends a statement, which an `else` may still continue.
    fn end_statement(&mut self) {
        self.count_types();
        let level = self.level();
        level.ended = level.peak.max(level.ended);
        level.tokens = 0;
        level.peak = 0;
        level.angles = 0;
    }

    /// Counts what possibly open type arguments have made a parser re-read.
    fn count_types(&mut self) {
        let at = self.at;
        let level = self.level();
        let reread = level.angles * (at - level.counted);
        level.counted = at;
        self.found.types_reread = self.found.types_reread.saturating_add(reread);
    }

    fn open(&mut self, bracket: u8) -> Result<(), TooNested> {
        self.token()?;
        let mut level = Level::new(bracket);
        if bracket == b'(' {
            level.head = matches!(self.prev, Prev::HeadWord | Prev::For);
            let call = self.prev == Prev::Operand && !self.bytes[..self.at].trim_ascii_end().ends_with(b"async");
            level.parameters = (!call && !level.head).then_some(self.at);
        }
        self.outer += self.level().peak;
        self.levels.push(level);
        let depth = self.levels.len() - 1;
        self.found.brackets = self.found.brackets.max(depth);
        if depth > SOURCE_NESTING_MAX {
            return Err(TooNested { offset: self.at, how: BRACKETS });
        }
        self.at += 1;
        self.prev = Prev::Operator;
        Ok(())
    }

    /// Returns `false` if the bracket closes nothing.
    fn close(&mut self, bracket: u8) -> Result<bool, TooNested> {
        self.count_types();
        let level = self.level();
        let fits = match level.open {
            b'(' => bracket == b')',
            b'[' => bracket == b']',
            b'{' | b'$' => bracket == b'}',
            _ => false,
        };
        if !fits {
            return Ok(false);
        }
        let (head, template, parameters) = (level.head, level.open == b'$', level.parameters);
        self.prev = match bracket {
            b')' if head => Prev::Head,
            b'}' => Prev::Brace,
            _ => Prev::Operand,
        };
        self.levels.pop();
        self.outer -= self.level().peak;
        self.at += 1;
        self.reread(parameters)?;
        if template {
            self.prev = Prev::Operand;
            self.template()?;
        }
        Ok(true)
    }

    /// Counts what is re-read if the bracket's content was tried as parameters.
    fn reread(&mut self, parameters: Option<usize>) -> Result<(), TooNested> {
        let Some(offset) = parameters else { return Ok(()) };
        self.reread += self.at - offset;
        if self.reread > REREAD_BYTES_MAX { Err(TooNested { offset, how: REREAD }) } else { Ok(()) }
    }

    fn space(&mut self, byte: u8) -> bool {
        match byte {
            b'\n' | b'\r' => self.newline = true,
            b' ' | b'\t' | 0x0B | 0x0C => {}
            0x80.. => {
                let c = self.char();
                if !c.is_whitespace() && c != '\u{FEFF}' {
                    return false;
                }
                self.newline |= matches!(c, '\u{2028}' | '\u{2029}');
                self.at += c.len_utf8() - 1;
            }
            _ => return false,
        }
        self.at += 1;
        true
    }

    fn char(&self) -> char {
        self.source[self.at..].chars().next().unwrap_or('\0')
    }

    fn comment(&mut self, byte: u8) -> bool {
        let rest = &self.bytes[self.at..];
        match byte {
            b'/' if rest.starts_with(b"//") => self.line(),
            b'/' if rest.starts_with(b"/*") => {
                let text = &self.source[self.at..];
                let length = text[2..].find("*/").map_or(text.len(), |end| end + 4);
                self.newline |= text[..length].contains(['\n', '\r', '\u{2028}', '\u{2029}']);
                self.at += length;
            }
            // HTML-like comments, which classic scripts still support.
            b'<' if rest.starts_with(b"<!--") => {
                self.found.unsure = true;
                self.line();
            }
            b'-' if rest.starts_with(b"-->") && (self.newline || self.found.first.is_none()) => {
                self.found.unsure = true;
                self.line();
            }
            _ => return false,
        }
        true
    }

    fn line(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len());
    }

    /// Skips a string, or the rest of the line if the string is not closed on it.
    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'\\' => self.escaped(),
                b'\n' | b'\r' => break,
                _ if byte == quote => break,
                _ => {}
            }
        }
    }

    /// Skips an escaped character; a line end may be two bytes.
    fn escaped(&mut self) {
        self.at += if self.bytes[self.at.min(self.bytes.len())..].starts_with(b"\r\n") { 2 } else { 1 };
    }

    /// Skips the rest of a template, up to its end or the next `${`.
    fn template(&mut self) -> Result<(), TooNested> {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'`' => break,
                b'$' if self.bytes.get(self.at) == Some(&b'{') => {
                    self.open(b'{')?;
                    self.level().open = b'$';
                    break;
                }
                _ => {}
            }
        }
        self.at = self.at.min(self.bytes.len());
        Ok(())
    }

    fn slash(&mut self) -> Result<(), TooNested> {
        let regex = match self.prev {
            Prev::Operand | Prev::Dot => false,
            Prev::Operator | Prev::Head | Prev::HeadWord | Prev::For => true,
            // `} / 2` or `} /x/.test(y)`, `await / 2` or `await /x/`: only a grammar can tell.
            Prev::Brace | Prev::Word => {
                self.found.unsure |= self.prev == Prev::Brace || self.unsure_word();
                true
            }
        };
        if regex && self.regex() {
            return self.operand();
        }
        self.punctuator(b'/')
    }

    /// Whether the previous word can also be an identifier.
    fn unsure_word(&self) -> bool {
        let before = self.source[..self.at].trim_end();
        !["return", "typeof", "case", "in", "instanceof", "void", "delete", "throw", "new", "else", "do"]
            .iter()
            .any(|word| before.ends_with(word))
    }

    /// Skips a regular expression, if there is one.
    fn regex(&mut self) -> bool {
        let mut at = self.at + 1;
        let (mut class, mut depth) = (false, 0_usize);
        loop {
            match self.bytes.get(at) {
                None | Some(b'\n' | b'\r') => return false,
                Some(b'\\') => at += 1,
                Some(b'[') => {
                    class = true;
                    depth += 1;
                }
                Some(b']') => class = false,
                Some(b'(') => depth += 1,
                Some(b')') if !class => depth = depth.saturating_sub(1),
                Some(b'/') if !class => break,
                Some(_) => {}
            }
            self.found.pattern_brackets = self.found.pattern_brackets.max(depth);
            at += 1;
        }
        at += 1;
        while self.bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            at += 1;
        }
        self.at = at;
        true
    }

    fn number(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            let exponent = matches!(self.bytes[self.at - usize::from(self.at > 0)], b'e' | b'E');
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || exponent && matches!(byte, b'+' | b'-'))
            {
                break;
            }
            self.at += 1;
        }
    }

    fn word(&mut self) -> Result<(), TooNested> {
        let begin = self.at;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'\\' if self.bytes[self.at..].starts_with(b"\\u{") => {
                    let rest = &self.source[self.at..];
                    self.at += rest.find('}').map_or(rest.len(), |end| end + 1);
                }
                0x80.. => {
                    let c = self.char();
                    if c.is_whitespace() || c == '\u{FEFF}' {
                        break;
                    }
                    self.at += c.len_utf8();
                }
                _ if is_word(byte) || byte.is_ascii_digit() => self.at += 1,
                _ => break,
            }
        }
        let word = &self.source[begin..self.at];
        if self.prev == Prev::Dot {
            return self.operand();
        }
        if word == "else" {
            let level = self.level();
            level.tokens = level.peak.max(level.ended);
        } else if matches!(word, "case" | "default") || self.begins_statement(word) {
            self.end_statement();
        }
        self.found.module_words |= matches!(word, "import" | "export");
        let prev = match word {
            "if" | "while" | "with" => Prev::HeadWord,
            "for" => Prev::For,
            "await" if self.prev == Prev::For => Prev::HeadWord,
            _ if OPERAND_FOLLOWS.contains(&word) => Prev::Word,
            _ => Prev::Operand,
        };
        self.prev = prev;
        self.token()
    }

    /// Whether a statement ends before the word, with or without a semicolon.
    fn begins_statement(&self, word: &str) -> bool {
        let ended = self.prev == Prev::Brace || self.newline && self.prev == Prev::Operand;
        ended && !CONTINUES.contains(&word)
    }

    fn punctuator(&mut self, byte: u8) -> Result<(), TooNested> {
        let rest = &self.bytes[self.at..];
        let length = match byte {
            b'=' if rest.starts_with(b"=>") => 2,
            b'?' if rest.starts_with(b"?.") && !rest.get(2).is_some_and(u8::is_ascii_digit) => 2,
            b'+' if rest.starts_with(b"++") => 2,
            b'-' if rest.starts_with(b"--") => 2,
            0x80.. => self.char().len_utf8(),
            _ => 1,
        };
        let operand = matches!(self.prev, Prev::Operand | Prev::Brace);
        self.at += length;
        match byte {
            b';' => self.end_statement(),
            b',' => {
                let level = self.level();
                level.tokens = level.angles * 2;
            }
            b'<' => {
                self.count_types();
                self.level().angles += 1;
            }
            b'>' => {
                self.count_types();
                let level = self.level();
                level.angles = level.angles.saturating_sub(1);
            }
            _ => {}
        }
        self.prev = match byte {
            b'.' => Prev::Dot,
            b'?' if length == 2 => Prev::Dot,
            // `a++` is an operand, `++a` still needs one.
            b'+' | b'-' if length == 2 && operand && !self.newline => Prev::Operand,
            _ => Prev::Operator,
        };
        if matches!(byte, b';' | b',') { Ok(()) } else { self.token() }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'#' | b'@' | b'\\') || byte >= 0x80
}

/// Words before an operand: a slash after them starts a regular expression, and a line break does not end the
/// statement.
const OPERAND_FOLLOWS: &[&str] = &[
    "abstract",
    "as",
    "asserts",
    "await",
    "case",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "implements",
    "import",
    "in",
    "infer",
    "instanceof",
    "is",
    "keyof",
    "new",
    "of",
    "readonly",
    "return",
    "satisfies",
    "throw",
    "typeof",
    "unique",
    "void",
    "yield",
];

/// Words that continue the previous statement.
const CONTINUES: &[&str] = &[
    "as",
    "catch",
    "else",
    "extends",
    "finally",
    "from",
    "implements",
    "in",
    "instanceof",
    "is",
    "of",
    "satisfies",
    "while",
];
