"""Which call a process below a shared process belongs to, under every order of begins, ends, births and looks."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from errands_workers.kinship import Child, Kinship

MAIN = 1
OWN = Child(pid=5, began=1, thread=MAIN)


class Household(RuleBasedStateMachine):
    """A process with four threads for calls. It knows of each child whose it is; `kinship` has to find out."""

    def __init__(self) -> None:
        super().__init__()
        self.kinship = Kinship([OWN])
        self.threads: dict[str, int] = {}
        self.children: dict[Child, str] = {}
        self.number = 100

    @precondition(lambda self: len(self.threads) < 4)
    @rule()
    def a_call_begins(self) -> None:
        self.number += 1
        call, thread = f"call {self.number}", min({10, 11, 12, 13} - set(self.threads.values()))
        self.threads[call] = thread
        self.kinship.begin(call, thread)

    @precondition(lambda self: self.threads)
    @rule(data=st.data(), how=st.sampled_from(["own thread", "marked", "told", "nothing shows"]))
    def a_process_begins(self, data: st.DataObject, how: str) -> None:
        call = data.draw(st.sampled_from(sorted(self.threads)))
        self.number += 1
        thread = self.threads[call] if how == "own thread" else MAIN
        child = Child(self.number % 7 + 6, self.number, thread, call if how == "marked" else "")
        self.children = {one: of for one, of in self.children.items() if one.pid != child.pid}
        self.children[child] = call
        if how == "told":
            self.kinship.own(call, child.pid, child.began)
        self.look()

    @precondition(lambda self: self.threads)
    @rule(data=st.data())
    def a_call_ends_and_with_it_what_is_its_alone(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(sorted(self.threads)))
        self.look()
        doomed = set(self.kinship.only_of(call))
        self.children = {one: of for one, of in self.children.items() if one.pid not in doomed}
        self.kinship.end(call)
        del self.threads[call]

    def look(self) -> None:
        self.kinship.see([OWN, *self.children])

    @invariant()
    def nobody_ends_what_is_anothers(self) -> None:
        self.look()
        for call in self.threads:
            for pid in self.kinship.only_of(call):
                [owner] = [of for one, of in self.children.items() if one.pid == pid]
                assert owner == call or owner not in self.threads

    @invariant()
    def what_shows_whose_it_is_belongs_to_that_call(self) -> None:
        self.look()
        for child, owner in self.children.items():
            if owner in self.threads and (child.mark or child.thread != MAIN):
                assert child.pid in self.kinship.only_of(owner)

    @invariant()
    def nothing_outlives_the_last_call(self) -> None:
        if not self.threads:
            self.look()
            assert set(self.kinship.only_of("nobody")) == {child.pid for child in self.children}
            assert OWN.pid not in self.kinship.only_of("nobody")


TestHousehold = Household.TestCase
TestHousehold.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_what_shows_nothing_belongs_to_the_call_whose_possible_rivals_are_over():
    kinship = Kinship()
    kinship.begin("a", 10)
    kinship.begin("b", 11)
    stray = Child(7, 1, MAIN)
    kinship.see([stray])
    assert (kinship.only_of("a"), kinship.only_of("b")) == ([], [])
    kinship.begin("c", 12)
    kinship.end("a")
    kinship.see([stray])
    assert (kinship.only_of("b"), kinship.only_of("c")) == ([7], [])


def test_a_mark_that_shows_later_settles_whose_it_is():
    kinship = Kinship()
    kinship.begin("a", 10)
    kinship.begin("b", 11)
    kinship.see([Child(7, 1, MAIN)])
    kinship.see([Child(7, 1, MAIN, "b")])
    assert (kinship.only_of("a"), kinship.only_of("b")) == ([], [7])


def test_another_process_with_the_same_number_is_another_process():
    kinship = Kinship()
    kinship.begin("a", 10)
    kinship.own("a", 7, 1)
    kinship.begin("b", 11)
    kinship.see([Child(7, 2, 11)])
    assert (kinship.only_of("a"), kinship.only_of("b")) == ([], [7])
