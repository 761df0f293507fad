//! Whole numbers, however an encoding spells them.

use serde_json::Value;

/// A whole number. `0`, `0.0` and `"0"` are the same one: what has gone through JSON, TOON or TOML on its way here has
/// come out as any of them. `None` for everything else, and for what does not fit.
pub fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => {
            let text = text.trim();
            text.parse()
                .ok()
                .or_else(|| text.parse().ok().and_then(whole))
        }
        _ => None,
    }
}

/// A float without a fraction that is exactly one integer.
fn whole(float: f64) -> Option<i64> {
    /// Up to here every integer has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;

    let is_whole = float.fract() == 0.0 && float.abs() <= EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and fits")]
    is_whole.then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r91_an_integer_is_read_in_each_spelling_and_nothing_else_is_one() {
        let same = [
            r"137",
            r"137.0",
            r"1.37e2",
            r#""137""#,
            r#""137.0""#,
            r#"" 137 ""#,
        ];
        for text in same {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(integer(&value), Some(137), "{text}");
        }
        for zero in [json!(0), json!(0.0), json!(-0.0), json!("0")] {
            assert_eq!(integer(&zero), Some(0));
        }
        assert_eq!(integer(&json!(i64::MIN)), Some(i64::MIN));
        let others = [
            "null", "true", "[]", "{}", "0.5", r#""""#, r#""x""#, r#""inf""#, r#""nan""#, "1e300",
            "1e999999",
        ];
        for text in others {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(integer(&value), None, "{text}");
        }
    }
}
