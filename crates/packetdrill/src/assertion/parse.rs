//! Parser of assertions in Python's syntax, as far as scripts use it.

use super::{Assertion, Logic, Node, Relation, Value};

/// Largest depth: more than any script needs, and far from a stack overflow.
const DEPTH_MAX: usize = 40;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Integer(i64),
    Float(f64),
    Text(String),
    Name(String),
    /// An operator or bracket; `d` stands for `//`.
    Symbol(&'static str),
    /// The end of a statement.
    End,
}

/// Symbols of assertions, longer ones before their beginnings.
const SYMBOLS: [&str; 18] =
    ["==", "!=", "<=", ">=", "//", "<", ">", "(", ")", ",", "+", "-", "*", "/", "%", ";", "|", "&"];

/// Parses the assertions of `code`.
///
/// # Errors
/// The text that is not understood.
pub(super) fn assertions(code: &str) -> Result<Vec<Assertion>, String> {
    let tokens = tokens(code)?;
    let mut assertions = Vec::new();
    for statement in tokens.split(|token| *token == Token::End).filter(|one| !one.is_empty()) {
        let Some((Token::Name(word), rest)) = statement.split_first() else {
            return Err("a statement that is no assert".to_owned());
        };
        if word != "assert" {
            return Err(format!("the statement {word} is not supported"));
        }
        let mut parser = Parser { tokens: rest, at: 0 };
        let condition = parser.logic(0)?;
        let text = rest[..parser.at].iter().map(Token::shown).collect::<Vec<_>>().join(" ");
        let message = if parser.take(",") { Some(parser.logic(0)?) } else { None };
        if parser.at < rest.len() {
            return Err(format!("{} is not understood", rest[parser.at].shown()));
        }
        assertions.push(Assertion { condition, message, text });
    }
    Ok(assertions)
}

fn tokens(code: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut rest, mut open) = (Vec::new(), code, 0_i32);
    while let Some(first) = rest.chars().next() {
        let length = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let used = match first {
            // A statement continues within brackets.
            '\n' => {
                if open <= 0 {
                    tokens.push(Token::End);
                }
                1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if first.is_whitespace() => first.len_utf8(),
            '"' | '\'' => {
                let end = rest[1..].find(first).ok_or("a text without its end: '")?;
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                end + 2
            }
            _ if first.is_ascii_digit() => {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '.');
                tokens.push(number(&rest[..length])?);
                length
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
                tokens.push(Token::Name(rest[..length].to_owned()));
                length
            }
            _ => {
                let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
                let symbol = symbol.ok_or_else(|| format!("{first} is not understood"))?;
                open += i32::from(symbol == "(") - i32::from(symbol == ")");
                tokens.push(if symbol == ";" { Token::End } else { Token::Symbol(symbol) });
                symbol.len()
            }
        };
        rest = &rest[used..];
    }
    Ok(tokens)
}

fn number(text: &str) -> Result<Token, String> {
    let hexadecimal = text.strip_prefix("0x").map(|digits| i64::from_str_radix(digits, 16));
    match hexadecimal.unwrap_or_else(|| text.parse()) {
        Ok(number) => Ok(Token::Integer(number)),
        Err(_) => text.parse().map(Token::Float).map_err(|_| format!("{text} is not understood")),
    }
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Integer(number) => number.to_string(),
            Token::Float(number) => number.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Name(name) => name.clone(),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::End => "the end".to_owned(),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn take(&mut self, symbol: &str) -> bool {
        let found =
            matches!(self.tokens.get(self.at), Some(Token::Symbol(found)) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Name(found)) if found == word);
        self.at += usize::from(found);
        found
    }

    fn logic(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.conjunction(depth)?;
        while self.take_word("or") {
            let right = self.conjunction(depth)?;
            left = Node::Logic(Box::new(left), Logic::Or, Box::new(right));
        }
        Ok(left)
    }

    fn conjunction(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.negation(depth)?;
        while self.take_word("and") {
            let right = self.negation(depth)?;
            left = Node::Logic(Box::new(left), Logic::And, Box::new(right));
        }
        Ok(left)
    }

    fn negation(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err("nested too deeply".to_owned());
        }
        if self.take_word("not") {
            return Ok(Node::Not(Box::new(self.negation(depth + 1)?)));
        }
        let first = self.bits(depth)?;
        let mut rest = Vec::new();
        while let Some(relation) = self.relation() {
            rest.push((relation, self.bits(depth)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Comparison(Box::new(first), rest) })
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.tokens.get(self.at)? {
            Token::Symbol("==") => Relation::Equal,
            Token::Symbol("!=") => Relation::NotEqual,
            Token::Symbol("<") => Relation::Less,
            Token::Symbol("<=") => Relation::AtMost,
            Token::Symbol(">") => Relation::Greater,
            Token::Symbol(">=") => Relation::AtLeast,
            _ => return None,
        };
        self.at += 1;
        Some(relation)
    }

    fn bits(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.sum(depth)?;
        loop {
            let operator = if self.take("|") {
                '|'
            } else if self.take("&") {
                '&'
            } else {
                return Ok(left);
            };
            let right = self.sum(depth)?;
            left = Node::Arithmetic(Box::new(left), operator, Box::new(right));
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.product(depth)?;
        loop {
            let operator = if self.take("+") {
                '+'
            } else if self.take("-") {
                '-'
            } else {
                return Ok(left);
            };
            let right = self.product(depth)?;
            left = Node::Arithmetic(Box::new(left), operator, Box::new(right));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.atom(depth)?;
        loop {
            let operators = [("//", 'd'), ("*", '*'), ("/", '/'), ("%", '%')];
            let Some((_, operator)) = operators.into_iter().find(|(symbol, _)| self.take(symbol))
            else {
                return Ok(left);
            };
            let right = self.atom(depth)?;
            left = Node::Arithmetic(Box::new(left), operator, Box::new(right));
        }
    }

    fn atom(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err("nested too deeply".to_owned());
        }
        if self.take("-") {
            return Ok(Node::Negative(Box::new(self.atom(depth + 1)?)));
        }
        if self.take("(") {
            let first = self.logic(depth + 1)?;
            let mut more = Vec::new();
            while self.take(",") {
                more.push(self.logic(depth + 1)?);
            }
            if !self.take(")") {
                return Err("a bracket without its end".to_owned());
            }
            if more.is_empty() {
                return Ok(first);
            }
            more.insert(0, first);
            return Ok(Node::Tuple(more));
        }
        let Some(token) = self.tokens.get(self.at) else {
            return Err("a value wanted, found the end".to_owned());
        };
        self.at += 1;
        Ok(match token {
            Token::Integer(number) => Node::Constant(Value::Integer(*number)),
            Token::Float(number) => Node::Constant(Value::Float(*number)),
            Token::Text(text) => Node::Constant(Value::Text(text.clone())),
            Token::Name(name) => Node::Name(name.clone()),
            token => return Err(format!("{} where a value should be", token.shown())),
        })
    }
}
