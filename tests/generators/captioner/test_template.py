from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.captioner.template import can_express, negate_all, write_caption
from compeval.generators.captioner.words import join_text
from compeval.generators.graphs.entailment import Negated

CUP = SceneObject("1", "cup", ("red",))
ON = Relation("1", "on", "2")


def write(graph: SceneGraph, *negated: Negated) -> str:
    return join_text(write_caption(graph, negated))


def test_template_of_the_paper() -> None:
    boy, grass = SceneObject("1", "boy", ("tall", "blue")), SceneObject("2", "grass", ("green",))
    # The paper's example, "tall and blue boy on green grass", has six atoms. This graph has four.
    graph = SceneGraph(
        (SceneObject("1", "boy", ("tall",)), SceneObject("2", "grass")), (Relation("1", "on", "2"),)
    )
    assert write(graph) == "tall boy on grass"
    assert (
        write(SceneGraph((boy, SceneObject("2", "umbrella"))))
        == "tall and blue boy and an umbrella"
    )
    assert write(SceneGraph((SceneObject("1", "cup", ("red", "small", "plain")),))) == (
        "red, small and plain cup"
    )
    assert write(SceneGraph((SceneObject("1", "tree"), grass, SceneObject("3", "man")))) == (
        "tree and green grass and a man"
    )
    pair = (SceneObject("1", "cup"), SceneObject("2", "table"))
    two = SceneGraph(pair, (Relation("1", "above", "2"), Relation("1", "left of", "2")))
    assert write(two) == "cup above and to the left of table"
    assert not can_express(
        SceneGraph(pair, (Relation("1", "above", "2"), Relation("1", "wearing", "2")))
    )


def test_template_negations() -> None:
    graph = SceneGraph((CUP, SceneObject("2", "table")), (ON,))
    assert write(graph, Negated("attribute", "1", "red")) == "cup that is not red on table"
    assert write(graph, Negated("relation", "1", "on", ON)) == "red cup not on table"
    assert write(graph, Negated("object", "1", "cup")) == "table and no red cup"
    red, on, table = (
        Negated("attribute", "1", "red"),
        Negated("relation", "1", "on", ON),
        Negated("object", "2", "table"),
    )
    assert write(graph, red, on) == "cup that is not red and not on table"
    assert write(graph, red, table) == "cup that is not red and no table"
    assert join_text(negate_all(graph)) == "no red cup on table"
    three = SceneGraph(
        (SceneObject("1", "cup"), SceneObject("2", "table"), SceneObject("3", "cat")), (ON,)
    )
    # The negated part comes last, because "cup not on table and a cat" could mean that the cup is not on a cat.
    assert write(three, Negated("relation", "1", "on", ON)) == "cat and a cup not on table"
    # After a relation a comma stands, because "cup on table and no cat" could mean that the cup is on no cat.
    assert write(three, Negated("object", "3", "cat")) == "cup on table, no cat"
    assert join_text(negate_all(three)) == "no cup on table, no cat"
