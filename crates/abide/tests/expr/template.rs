//! Texts with expressions in them.

use abide::expr::{Roots, Template};
use serde_json::{Value as Json, json};

use crate::world::World;

fn render(source: &str) -> Result<Option<Json>, String> {
    let world = World {
        context: json!({"a": 1, "t": "x", "o": {"k": [1, null]}, "none": null}),
        ..World::default()
    };
    let template = Template::parse(source).map_err(|error| error.to_string())?;
    let env = world.known();
    template.render(&env).map(|value| value.to_json()).map_err(|error| error.to_string())
}

#[test]
fn whole_templates_keep_their_type_and_others_become_text() {
    let check =
        |source: &str, expect: Json| assert_eq!(render(source), Ok(Some(expect)), "{source}");
    check("plain", json!("plain"));
    check("", json!(""));
    check("${workflow.context.a}", json!(1));
    check("${ workflow.context.o }", json!({"k": [1, null]}));
    check("${workflow.context.none}", json!(null));
    check("a ${workflow.context.a} b ${workflow.context.t}", json!("a 1 b x"));
    check("${workflow.context.a}${workflow.context.t}", json!("1x"));
    check(" ${workflow.context.a}", json!(" 1"));
    check("o: ${workflow.context.o}", json!(r#"o: {"k":[1,null]}"#));
    check("${ {a: '}'}.a } ${'${'}", json!("} ${"));
    check("$${workflow} costs $5 {x}", json!("${workflow} costs $5 {x}"));
    check("${workflow.context.b ?? null}", json!(null));
    check("é${workflow.context.t}é", json!("éxé"));
}

#[test]
fn undefined_is_reported_with_every_expression() {
    assert_eq!(
        render("${workflow.context.b} and ${ input.x.y }"),
        Err("undefined: workflow.context.b, input.x.y".to_owned())
    );
    assert_eq!(
        render("${workflow.context.b.trim()}"),
        Err("workflow.context.b.trim(): workflow.context.b is undefined and has no method trim; \
             write workflow.context.b?.trim(..) to allow it"
            .to_owned())
    );
}

#[test]
fn syntax_errors_are_placed_in_the_whole_text() {
    let check = |source: &str, expect: &str| {
        assert_eq!(Template::parse(source).unwrap_err().to_string(), expect, "{source}");
    };
    check("ab ${input.}", "unexpected `}` at line 1, column 12; expected a field name");
    check("ab ${input.a", "the expression ends too early at line 1, column 13; expected `}`");
    check("ab ${}", "unexpected `}` at line 1, column 6; expected a value");
    check("ab\n${a b}", "unexpected `b` at line 2, column 5; expected `}`");
}

#[test]
fn names_in_templates_are_checked() {
    let template = Template::parse("x ${evnt.a}").unwrap();
    let error = template.check(&Roots::filter()).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean event?"));
    assert_eq!(error.position.column, 5, "in the whole text");
    assert!(!template.is_constant());
    assert!(Template::parse("x $${a}").unwrap().is_constant());
}

#[test]
fn mentions_say_where_each_path_is_written_in_the_whole_text() {
    let source = "x ${input.a} y ${input.a + steps.b.output}";
    let template = Template::parse(source).unwrap();
    let told: Vec<_> = template
        .expressions()
        .flat_map(|expr| expr.mentions())
        .map(|(path, at)| (path.to_string(), at))
        .collect();
    let expect = [("input.a", 4), ("input.a", 17), ("steps.b.output", 27)];
    assert_eq!(told, expect.map(|(path, at)| (path.to_owned(), at)));
}
