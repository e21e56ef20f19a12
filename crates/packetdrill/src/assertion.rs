//! Assertions between `%{` and `}%`: the part of Python that scripts use, over numbers with names.
//!
//! The only statement is `assert a == b, message`; several are on lines of their own or separated
//! by semicolons. The caller provides the values of names: an association's or a connection's.

mod parse;

use core::cmp::Ordering;
use core::fmt;

/// Result of evaluating the assertions of a script's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Every assertion is true.
    Holds,
    /// An assertion does not hold; its message.
    Fails(String),
    /// The evaluator does not support the assertion, or a name has no value.
    Unsupported(String),
}

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(i64),
    Float(f64),
    Text(String),
    Tuple(Vec<Value>),
}

/// An expression of an assertion, as a tree.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Constant(Value),
    Name(String),
    Tuple(Vec<Node>),
    Not(Box<Node>),
    Negative(Box<Node>),
    /// Conjunction or disjunction of two conditions.
    Logic(Box<Node>, Logic, Box<Node>),
    /// `a < b <= c`: each operand is compared with its predecessor.
    Comparison(Box<Node>, Vec<(Relation, Node)>),
    Arithmetic(Box<Node>, char, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logic {
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// One `assert`, with its message if it has one.
#[derive(Clone, Debug, PartialEq)]
struct Assertion {
    condition: Node,
    message: Option<Node>,
    text: String,
}

/// Judges the assertions of a script's code; `value` looks up the names that they use.
pub(crate) fn evaluate(code: &str, value: &dyn Fn(&str) -> Option<i64>) -> Outcome {
    let assertions = match parse::assertions(code) {
        Ok(assertions) => assertions,
        Err(why) => return Outcome::Unsupported(why),
    };
    for assertion in assertions {
        if !assertion.condition.can_fail() {
            let why = "holds whatever the stack does: a condition compares or tests a name";
            return Outcome::Fails(format!("{} {why}", assertion.text));
        }
        match assertion.condition.value(value) {
            Err(why) => return Outcome::Unsupported(why),
            Ok(result) if result.is_true() => {}
            Ok(_) => {
                let said = assertion.message.and_then(|message| message.value(value).ok());
                let said = said.map_or(String::new(), |said| format!(": {said}"));
                return Outcome::Fails(format!("{} does not hold{said}", assertion.text));
            }
        }
    }
    Outcome::Holds
}

impl Node {
    /// Whether the node depends on a name and is not a tuple, which is true unless it is empty.
    fn can_fail(&self) -> bool {
        match self {
            Node::Constant(_) | Node::Tuple(_) => false,
            Node::Name(_) => true,
            Node::Not(node) | Node::Negative(node) => node.can_fail(),
            Node::Logic(left, _, right) | Node::Arithmetic(left, _, right) => {
                left.can_fail() || right.can_fail()
            }
            Node::Comparison(first, rest) => {
                first.can_fail() || rest.iter().any(|(_, node)| node.can_fail())
            }
        }
    }

    fn value(&self, names: &dyn Fn(&str) -> Option<i64>) -> Result<Value, String> {
        let truth = |truth: bool| Value::Integer(truth.into());
        Ok(match self {
            Node::Constant(value) => value.clone(),
            Node::Name(name) => {
                Value::Integer(names(name).ok_or_else(|| format!("{name} has no value here"))?)
            }
            Node::Tuple(nodes) => {
                Value::Tuple(nodes.iter().map(|node| node.value(names)).collect::<Result<_, _>>()?)
            }
            Node::Not(node) => truth(!node.value(names)?.is_true()),
            Node::Negative(node) => Value::Integer(0).arithmetic('-', &node.value(names)?)?,
            Node::Logic(left, logic, right) => {
                let left = left.value(names)?;
                if left.is_true() == (*logic == Logic::And) { right.value(names)? } else { left }
            }
            Node::Comparison(first, rest) => {
                let mut before = first.value(names)?;
                for (relation, node) in rest {
                    let value = node.value(names)?;
                    if !relation.holds(&before, &value)? {
                        return Ok(truth(false));
                    }
                    before = value;
                }
                truth(true)
            }
            Node::Arithmetic(left, operator, right) => {
                left.value(names)?.arithmetic(*operator, &right.value(names)?)?
            }
        })
    }
}

impl Relation {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, String> {
        let order = left.order(right).ok_or_else(|| format!("{left} and {right} have no order"))?;
        Ok(match self {
            Relation::Equal => order == Ordering::Equal,
            Relation::NotEqual => order != Ordering::Equal,
            Relation::Less => order == Ordering::Less,
            Relation::AtMost => order != Ordering::Greater,
            Relation::Greater => order == Ordering::Greater,
            Relation::AtLeast => order != Ordering::Less,
        })
    }
}

impl Value {
    fn is_true(&self) -> bool {
        match self {
            Value::Integer(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Tuple(values) => !values.is_empty(),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
            (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    fn arithmetic(&self, operator: char, other: &Value) -> Result<Value, String> {
        let refused = || format!("{self} {operator} {other} is not supported");
        if let (Value::Integer(left), Value::Integer(right)) = (self, other) {
            let exact = match operator {
                '+' => left.checked_add(*right),
                '-' => left.checked_sub(*right),
                '*' => left.checked_mul(*right),
                // Python rounds towards minus infinity; only positive numbers occur.
                'd' => left.checked_div_euclid(*right),
                '%' => left.checked_rem_euclid(*right),
                '|' => Some(left | right),
                '&' => Some(left & right),
                _ => None,
            };
            if operator != '/' {
                return exact.map(Value::Integer).ok_or_else(refused);
            }
        }
        if let (Value::Text(form), '%') = (self, operator) {
            return Ok(Value::Text(format!("{form} % {other}")));
        }
        let (Some(left), Some(right)) = (self.number(), other.number()) else {
            return Err(refused());
        };
        Ok(Value::Float(match operator {
            '+' => left + right,
            '-' => left - right,
            '*' => left * right,
            '/' if right != 0.0 => left / right,
            'd' if right != 0.0 => (left / right).floor(),
            _ => return Err(refused()),
        }))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Tuple(values) => {
                let values: Vec<_> = values.iter().map(Value::to_string).collect();
                write!(f, "({})", values.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: &str) -> Outcome {
        evaluate(code, &|name| match name {
            "tcpi_snd_cwnd" => Some(10),
            "tcpi_rtt" => Some(30_000),
            "TCP_CA_Open" => Some(0),
            _ => None,
        })
    }

    #[test]
    fn comparisons_hold_or_fail_with_their_message() {
        for holds in [
            "assert tcpi_snd_cwnd == 10",
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd; assert tcpi_rtt > 1",
            "\nassert 9 < tcpi_snd_cwnd <= 10 # a comment with ; and 'quotes'\nassert not TCP_CA_Open",
            "assert tcpi_rtt / 1000 == 30.0 and tcpi_rtt // 7 == 4285 and -1 < 0",
            "assert (tcpi_snd_cwnd - 2) * 2 == 16 or 1 == 2, 'cwnd=%d' % tcpi_snd_cwnd",
            "assert (tcpi_snd_cwnd | 5) == 15 and tcpi_snd_cwnd & 3 == 2",
            "assert tcpi_snd_cwnd != 11, 'a %s, b %d' % (\n tcpi_rtt, 2)",
            "",
        ] {
            assert_eq!(outcome(holds), Outcome::Holds, "{holds}");
        }
        let Outcome::Fails(said) = outcome("assert tcpi_snd_cwnd == 11, 'cwnd=%d' % tcpi_snd_cwnd")
        else {
            panic!()
        };
        assert!(said.contains("tcpi_snd_cwnd == 11") && said.ends_with("cwnd=%d % 10"), "{said}");
        assert!(matches!(outcome("assert 1 < tcpi_snd_cwnd < 10"), Outcome::Fails(_)));
        assert!(matches!(outcome("assert 1 == 1; assert 0"), Outcome::Fails(_)));
    }

    #[test]
    fn a_condition_that_no_stack_can_break_fails() {
        for code in ["assert 1", "assert (tcpi_rtt == 11, 'm')", "assert 2 > 1", "assert not 0"] {
            let Outcome::Fails(why) = outcome(code) else { panic!("{code}") };
            assert!(why.contains("whatever the stack does"), "{code}: {why}");
        }
    }

    #[test]
    fn what_is_beyond_it_is_said_and_never_passed_over() {
        for (code, word) in [
            ("assert tcpi_unacked == 1", "tcpi_unacked"),
            ("print 1", "print"),
            ("from x import y", "from"),
            ("assert f(1)", "("),
            ("assert 1 ==", "end"),
            ("assert 'a", "'"),
            ("assert tcpi_rtt % 0", "%"),
            ("assert 'a' < tcpi_rtt", "order"),
            ("assert 1 $ 2", "$"),
        ] {
            let Outcome::Unsupported(why) = outcome(code) else { panic!("{code}") };
            assert!(why.contains(word), "{code}: {why}");
        }
        let deep = format!("assert {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(matches!(outcome(&deep), Outcome::Unsupported(_)));
    }
}
