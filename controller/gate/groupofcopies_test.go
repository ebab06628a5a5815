package gate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// dueIn returns the request of a workload that reads the copy of a bundle in its namespace.
func dueIn(namespace string, content string) *Request {
	copied := names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: "bundle"}
	return &Request{Workload: workload(namespace, "reader"), Standing: Well, Causes: []Cause{{
		Config: copied, Moments: []names.Sequence{1}, IsGradual: true, Group: GroupOf(copied.Kind, copied.Name), Content: content,
	}}}
}

// failBoth ends a restart that failed, for the copy and for the group.
func (b *book) failBoth(r *Request, id string) (local, group *Halt) {
	b.t.Helper()
	cause := &r.Causes[0]
	local = b.Fail(&Failure{Workload: r.Workload, Config: cause.Config, Content: cause.Content, Began: b.now}, id, b.now)
	group = b.Fail(&Failure{Workload: r.Workload, Config: cause.Group, Content: cause.Content, Began: b.now}, id+"-all", b.now)
	b.End(r.Workload, time.Time{}, start)
	b.check()
	return local, group
}

func TestCopiesOfAConfigInSeveralNamespacesStartSlowlyTogether(t *testing.T) {
	b := newBook(t, gradual(10))
	first, second, other := dueIn("a", "new"), dueIn("b", "new"), dueIn("c", "newer")
	second.Causes[0].Moments[0] = 2 // copied a moment later
	b.restart(first)
	b.expect(SlowStart, second)
	b.restart(other) // whose copy has another content
	b.deliver(first)
	b.restart(second)
}

func TestNoNamespaceOfAGroupWaitsForARestartInAnotherOneThatTakesTooLong(t *testing.T) {
	b := newBook(t, gradual(10))
	slow, second, third := dueIn("a", "new"), dueIn("b", "new"), dueIn("c", "new")
	b.restart(slow)
	b.expect(SlowStart, second)
	b.expect(SlowStart, third)
	b.FreePlace(slow.Workload)
	b.check()
	b.wakes("reader") // only one of them
	b.restart(second)
	b.expect(SlowStart, third)
	b.deliver(slow) // which counts all the same
	b.wakes()
	b.deliver(second)
	b.restart(third)
}

// The answers to its patches may be lost for as long as the tenant's webhooks want.
func TestNoNamespaceOfAGroupWaitsForARestartInAnotherOneThatIsUncertainAgainAndAgain(t *testing.T) {
	b := newBook(t, gradual(10))
	uncertain, other := dueIn("a", "new"), dueIn("b", "new")
	lose := func() {
		b.expect("", uncertain)
		b.now = b.now.Add(20 * time.Second)
		b.Release(uncertain.Workload, true, true, b.now)
		b.check()
	}
	lose()
	b.expect(SlowStart, other)
	lose()
	b.wakes("reader")
	b.expect(SlowStart, uncertain) // it is the turn of the other
	b.restart(other)
	if taken := b.places.taken; taken != 2 {
		t.Errorf("%d places are taken, want that of the uncertain restart, too", taken)
	}
}

// A webhook of its own, which hangs or denies, must not give a namespace each turn again.
func TestNoNamespaceOfAGroupWaitsForSeveralRestartsInAnotherOneThatAreRefused(t *testing.T) {
	b := newBook(t, gradual(10))
	first, second, other := dueIn("a", "new"), dueIn("a", "new"), dueIn("b", "new")
	second.Workload.Name = "second"
	b.expect("", first)
	b.expect(SlowStart, second)
	b.expect(SlowStart, other)
	b.Release(first.Workload, true, false, b.now)
	b.check()
	b.expect(SlowStart, second) // it is the turn of the other
	b.restart(other)
}

// A hold of its own, or a config that it deletes, must not give a namespace each turn again.
func TestNoNamespaceOfAGroupWaitsForSeveralRestartsInAnotherOneThatTurnOutNotToBegin(t *testing.T) {
	for name, end := range map[string]func(b *book, r *Request){
		"a config is missing": func(b *book, r *Request) { r.Missing = "configmap/c does not exist"; b.expect(Missing, r) },
		"a hold":              func(b *book, r *Request) { r.Hold = "wait"; b.expect(Hold, r) },
		"a closed window":     func(b *book, r *Request) { r.Closed, r.Opens = "Sunday", b.now.Add(time.Hour); b.expect(Window, r) },
		"it is not due":       func(b *book, r *Request) { b.Settle(r.Workload) },
		"it asks no more":     func(b *book, r *Request) { b.Release(r.Workload, true, false, b.now) },
		"it is deleted":       func(b *book, r *Request) { b.Forget(r.Workload) },
		"another fan-out": func(b *book, r *Request) {
			r.Causes = append(r.Causes, causeOf("own", 1))
			b.restart(&Request{Workload: workload("a", "stalled"), Standing: Well, Causes: []Cause{causeOf("own", 1)}})
			b.expect(SlowStart, r)
		},
		"no place": func(b *book, r *Request) {
			own := func(i int) *Request {
				return &Request{Workload: workload("a", fmt.Sprint("own-", i)), Standing: Well, Causes: []Cause{{Config: config("own"), Moments: []names.Sequence{1}}}}
			}
			for i := 0; b.Ask(own(i), b.now).MayBegin(); i++ {
				b.Begin(own(i), b.now)
			}
			b.expect(Limit, r)
		},
		"it is deleted as it rolls": func(b *book, r *Request) {
			b.restart(r)
			b.Forget(r.Workload)
			b.Tick(b.now)
		},
		"it restarts for something else": func(b *book, r *Request) {
			b.restart(r)
			r.ID, r.Causes = "another", []Cause{causeOf("own", 1)}
			b.restart(r)
		},
		"its answers are lost": func(b *book, r *Request) {
			b.expect("", r)
			b.Release(r.Workload, true, true, b.now)
			b.now = b.now.Add(uncertainPlace)
			b.Tick(b.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(10))
			rolling, first, second, other := dueIn("c", "new"), dueIn("a", "new"), dueIn("a", "new"), dueIn("b", "new")
			first.Workload.Name, second.Workload.Name, other.Workload.Name = "first", "second", "other"
			b.restart(rolling)
			b.expect(SlowStart, first, second, other)
			b.FreePlace(rolling.Workload)
			b.wakes("first")
			end(b, first)
			b.check()
			b.wakes("other")
			b.restart(other)
		})
	}
}

// A tenant may keep all places of its namespace busy with restarts of its own, which need not be gradual.
func TestNoNamespaceOfAGroupWaitsForAWorkloadThatGetsNoPlaceInAnotherOne(t *testing.T) {
	for name, test := range map[string]struct{ first, then Standing }{
		"a failed one before one that is well":        {Failed, Well},
		"one that is well before one that lacks pods": {Well, Unwell},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(3))
			for _, name := range []string{"own", "another"} {
				b.restart(&Request{Workload: workload("a", name), Standing: Well, Causes: []Cause{{Config: config(name), Moments: []names.Sequence{1}}}})
			}
			first, other := dueIn("a", "new"), dueIn("b", "new")
			first.Standing, other.Standing = test.first, test.then
			b.expect(Limit, first)
			b.restart(other)
		})
	}
}

func TestNoNamespaceOfAGroupWaitsForAWorkloadThatWaitsForAnotherFanOut(t *testing.T) {
	b := newBook(t, gradual(10))
	slow := due("slow")
	b.restart(slow)
	first, other := dueIn("a", "new"), dueIn("b", "new")
	first.Standing = Failed
	first.Causes = append(first.Causes, causeOf("c", 1))
	b.expect(SlowStart, first)
	b.restart(other)
	b.deliver(slow)
	b.deliver(other)
	b.restart(first)
}

func TestAWorkloadThatFailedGoesFirstInAGroup(t *testing.T) {
	b := newBook(t, gradual(10))
	rolling, failed, other := dueIn("a", "new"), dueIn("b", "new"), dueIn("c", "new")
	failed.Standing = Failed
	b.restart(rolling)
	b.expect(SlowStart, other, failed)
	b.deliver(rolling)
	b.expect(SlowStart, other)
	b.restart(failed)
}

// Whatever a namespace lets stall without failing, and in whatever order all ask, another one waits for one of its deadlines.
func TestNoNamespaceOfAGroupWaitsForSeveralReadersOfAnotherOneThatStall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBook(t, gradual(100))
		for i := range rapid.IntRange(0, 3).Draw(rt, "proven") {
			proof := dueIn(fmt.Sprint("proof-", i), "new")
			b.restart(proof)
			b.deliver(proof)
		}
		standing := func() Standing { return Standing(rapid.IntRange(0, int(Unwell)).Draw(rt, "standing")) }
		victim := dueIn("victim", "new")
		victim.Standing, victim.YieldsUntil = standing(), start.Add(YieldTime)
		requests := map[names.WorkloadRef]*Request{victim.Workload: victim}
		order := []*Request{victim}
		for i := range rapid.IntRange(1, 12).Draw(rt, "hostile readers") {
			hostile := dueIn("hostile", "new")
			hostile.Workload.Name, hostile.Standing, hostile.YieldsUntil = fmt.Sprint("hostile-", i), standing(), start.Add(YieldTime)
			requests[hostile.Workload] = hostile
			order = append(order, hostile)
		}
		rolling := make(map[names.WorkloadRef]bool)
		ask := func(r *Request) {
			if b.Ask(r, b.now).MayBegin() {
				b.Begin(r, b.now)
				rolling[r.Workload] = true
			}
			b.check()
		}
		asked := rapid.Permutation(order).Draw(rt, "order")
		for _, r := range asked {
			ask(r)
		}
		b.now = start.Add(YieldTime)
		for _, r := range asked { // as those do that have left the first turn to others
			if r.Standing == Lacking && !rolling[r.Workload] {
				ask(r)
			}
		}
		stall := func() {
			for _, r := range order {
				if ref := r.Workload; rolling[ref] && ref != victim.Workload {
					if rapid.Bool().Draw(rt, "ends") {
						b.End(ref, time.Time{}, start)
					} else {
						b.FreePlace(ref)
					}
					rolling[ref] = false
				}
			}
			for _, name := range b.takeWoken() {
				for ref, r := range requests {
					if ref.Name == name {
						ask(r)
					}
				}
			}
		}
		if !rolling[victim.Workload] {
			stall()
		}
		if !rolling[victim.Workload] {
			rt.Fatal("it waits for a second deadline")
		}
	})
}

func TestWhatIsUrgentInOneNamespaceOfAGroupTakesNoTurnFromOthers(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
	urgent := dueIn("hostile", "new")
	urgent.Causes[0].IsUrgent = true
	b.restart(urgent)
	b.restart(dueIn("victim", "new"))
	b.expect(SlowStart, dueIn("another", "new"))
}

// A reader of bad content restarts for another config whose restarts wait for no turn.
func TestAnUrgentRestartKeepsTheSlotOfTheOneThatItGoesOnWith(t *testing.T) {
	for name, end := range map[string]func(b *book, next *Request){
		"it begins": func(b *book, next *Request) { next.Continues = b.ExposedTo(next.Workload); b.Begin(next, b.now) },
		"its answer is lost, and the workload is deleted": func(b *book, next *Request) {
			b.Release(next.Workload, true, true, b.now)
			b.Forget(next.Workload)
		},
	} {
		b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
		exposed, other := dueIn("a", "bad"), dueIn("b", "bad")
		exposed.ID = "1"
		b.restart(exposed)
		b.expect(SlowStart, other)
		next := &Request{Workload: exposed.Workload, ID: "2", Standing: Well, Causes: []Cause{causeOf("other", 7, "k")}}
		next.Causes[0].IsUrgent = true
		b.expect("", next)
		end(b, next)
		if woken := b.takeWoken(); len(woken) > 0 {
			t.Errorf("%s: %q may begin", name, woken)
		}
		b.expect(SlowStart, other)
	}
}

func TestOneThatWasCalledTakesItsTurnAlsoIfNoPodRuns(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
	holder, unwell := dueIn("z", "new"), dueIn("a", "new")
	unwell.Standing = Unwell
	b.restart(holder)
	b.expect(SlowStart, unwell)
	b.FreePlace(holder.Workload)
	b.wakes("reader")
	b.restart(unwell)
	for _, f := range b.fanOuts {
		if turns := f.part("a").turns(); turns != 1 {
			t.Errorf("%d turns", turns)
		}
	}
}

func TestReadersOfWhichNoPodRunsTakeNoTurn(t *testing.T) {
	for _, readers := range []int{0, 1, 5} {
		b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
		for i := range readers {
			unwell := dueIn("victim", "new")
			unwell.Workload.Name, unwell.Standing = fmt.Sprint("unwell-", i), Unwell
			b.restart(unwell)
		}
		for i := range 3 {
			hostile := dueIn("hostile", "new")
			hostile.Workload.Name = fmt.Sprint("hostile-", i)
			if b.Ask(hostile, b.now).MayBegin() {
				b.Begin(hostile, b.now)
			}
		}
		b.expect(SlowStart, dueIn("victim", "new"))
		b.takeWoken()
		b.FreePlace(workload("hostile", "hostile-0"))
		b.wakes("reader")
	}
}

func TestAContentOfAGroupIsHaltedWhereItBrokeAWorkloadAndAfterTwoNamespacesEverywhere(t *testing.T) {
	b := newBook(t, gradual(10))
	first, neighbor, second, third := dueIn("a", "bad"), dueIn("a", "bad"), dueIn("b", "bad"), dueIn("c", "bad")
	neighbor.Workload.Name = "neighbor"
	b.restart(first)
	if local, group := b.failBoth(first, "1"); local == nil || group != nil {
		t.Fatalf("halts: %v, %v", local, group)
	}
	b.expect(Halted, neighbor)
	b.restart(second)
	local, group := b.failBoth(second, "2")
	if local == nil || group == nil || group.Config != third.Causes[0].Group {
		t.Fatalf("halts: %v, %v", local, group)
	}
	b.expect(Halted, third)
	b.expect("", dueIn("d", "good"))

	b.ContentChanged(second.Causes[0].Config, func([]string) string { return "good" })
	b.expect(Halted, third) // the others still have the bad content
	b.wakes()
	if b.Resume(group.Config, group.ID, b.now) == nil {
		t.Fatal("not resumed")
	}
	b.wakes("reader")
}

// The owner of a workload edits other configs of his, again and again.
func TestANamespaceKeepsNoSlotOfAGroupByOtherRestarts(t *testing.T) {
	for name, test := range map[string]struct {
		gradual bool
		stalls  bool
		every   time.Duration
	}{
		"before each deadline":             {true, false, 9 * time.Minute},
		"after it has stalled":             {true, true, 10 * time.Minute},
		"with restarts that take no place": {false, true, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, Policy{Gradual: test.gradual, Limit: 10, Deadline: 10 * time.Minute})
			hostile, other := dueIn("a", "new"), dueIn("b", "new")
			b.restart(hostile)
			b.expect(SlowStart, other)
			for i := range 8 {
				own := &Request{Workload: hostile.Workload, ID: fmt.Sprint(i), Standing: Well, Continues: b.ExposedTo(hostile.Workload)}
				own.Causes = []Cause{{Config: config("own"), Moments: []names.Sequence{1}}}
				b.now = b.now.Add(test.every)
				b.restart(own)
				if test.stalls {
					b.FreePlace(hostile.Workload)
				}
				b.Tick(b.now)
				b.check()
			}
			b.wakes("reader")
			b.restart(other)
		})
	}
}

func TestAContentOfAGroupThatIsGoneIsNoLongerHalted(t *testing.T) {
	b := newBook(t, gradual(10))
	for _, namespace := range []string{"a", "b"} {
		r := dueIn(namespace, "bad")
		b.restart(r)
		b.failBoth(r, namespace)
	}
	group := GroupOf(names.ConfigMap, "bundle")
	gone := func(gone string) func(string) Presence {
		return func(content string) Presence {
			if content == gone {
				return Gone
			}
			return Present
		}
	}
	b.NoteContent(group, gone("another"))
	b.expect(Halted, dueIn("c", "bad"))
	b.NoteContent(group, gone("bad"))
	b.wakes("reader")
	b.expect("", dueIn("c", "bad"))
	b.NoteContent(group, gone("another"))
	b.expect(Halted, dueIn("d", "bad"))
}

// A tenant edits its own copy again and again, so that a workload with a long grace period is always expected to go first there. Another
// workload of it is exposed, and waits for that. The other namespaces of the group must not.
func TestNoNamespaceOfAGroupWaitsForAWorkloadThatIsExpectedToGoFirstInAnotherOne(t *testing.T) {
	b := newBook(t, gradual(10))
	copied := names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "bundle"}
	b.restart(dueIn("a", "own")) // a content that only this namespace has; its pods come up very slowly
	canary, exposed, other := dueIn("c", "new"), dueIn("a", "new"), dueIn("b", "new")
	exposed.Standing, other.Workload.Name = Exposed, "other"
	b.restart(canary)
	b.expect(SlowStart, exposed, other)
	edit := func() { // away from the content and back
		b.GoFirst(copied, []names.WorkloadRef{workload("a", "broken")}, b.now.Add(time.Minute))
	}
	edit()
	b.deliver(canary)
	for range 24 * 60 {
		b.now = b.now.Add(50 * time.Second)
		edit()
		b.Tick(b.now)
		b.check()
		b.takeWoken()
	}
	b.expect("", other)
}

// Readers that are urgent in one namespace wait for no turn, and take none. So they must not prove the content for the others either: whoever
// may create Deployments could make any number of proofs, all of which read the copy and ignore it.
func TestWhatIsUrgentInOneNamespaceOfAGroupProvesNothingForOthers(t *testing.T) {
	b := newBook(t, gradual(50))
	b.restart(dueIn("canary", "bad")) // which is about to crash
	victims := []*Request{dueIn("v1", "bad"), dueIn("v2", "bad"), dueIn("v3", "bad"), dueIn("v4", "bad")}
	b.expect(SlowStart, victims...)
	for i := range 5 {
		urgent := dueIn("hostile", "bad")
		urgent.Workload.Name, urgent.Causes[0].IsUrgent = fmt.Sprint("pause-", i), true
		b.restart(urgent)
		b.deliver(urgent)
	}
	if woken := b.takeWoken(); len(woken) > 0 {
		t.Errorf("%d victims restart with the content, which nobody has proven but the hostile tenant", len(woken))
	}
}

// A hostile tenant whose workloads fail and run again as it likes, and wait for no turn because its copy is urgent, ends the halt of a
// group for all namespaces, again and again. The failures in the other namespaces must still count.
func TestATenantWhoseWorkloadRecoversDoesNotMakeTheFailuresInOtherNamespacesOfAGroupCountNoMore(t *testing.T) {
	b := newBook(t, gradual(50))
	var victims []*Request
	for i := range 10 {
		victims = append(victims, dueIn(fmt.Sprint("victim-", i), "bad"))
	}
	broken := make(map[string]bool)
	for round := range 10 {
		hostile := dueIn("hostile", "bad")
		hostile.Workload.Name, hostile.Causes[0].IsUrgent = fmt.Sprint("switch-", round), true
		b.restart(hostile)
		b.failBoth(hostile, fmt.Sprint("h", round))
		for _, victim := range victims {
			if broken[victim.Workload.Namespace] || !b.Ask(victim, b.now).MayBegin() {
				continue
			}
			b.Begin(victim, b.now)
			b.failBoth(victim, fmt.Sprint("v", round))
			broken[victim.Workload.Namespace] = true
		}
		b.Recovered(hostile.Workload, hostile.Causes[0].Config, readsAll)
		b.Recovered(hostile.Workload, hostile.Causes[0].Group, readsAll)
		b.check()
	}
	if len(broken) > 2 {
		t.Errorf("%d namespaces are broken by one bad content", len(broken))
	}
}

func TestAHaltOfAGroupThatHasEndedDoesNotHoldAgainForOneNamespace(t *testing.T) {
	b := newBook(t, gradual(50))
	group := GroupOf(names.ConfigMap, "bundle")
	fail := func(namespace, name string, isGone bool) *Halt {
		return b.Fail(&Failure{Workload: workload(namespace, name), Config: group, Content: "bad", Began: b.now, IsGone: isGone}, "h-"+namespace+name, b.now)
	}
	fail("x", "w", false)
	if fail("y", "w", false) == nil {
		t.Fatal("no halt")
	}
	if ended := b.Recovered(workload("x", "w"), group, readsAll); len(ended) != 1 {
		t.Fatal("did not end")
	}
	fail("y", "second", true) // y's owner alone; the content has just gone
	for _, h := range b.HaltsOf(group) {
		t.Errorf("kept and written with the id %q that has ended: gone=%v", h.ID, h.isGone)
	}
	_, begun := b.NoteContent(group, func(string) Presence { return Present }) // the content is back
	if len(begun) > 0 {
		t.Errorf("%d halts of all namespaces begin (id %s), though workloads failed in only %d", len(begun), begun[0].ID, len(begun[0].namespaces))
	}
}

func TestTheHaltOfAGroupNamesAWorkloadUntilItsEnd(t *testing.T) {
	b := newBook(t, gradual(50))
	group := GroupOf(names.ConfigMap, "bundle")
	for _, ns := range []string{"v", "w", "x", "y"} {
		b.Fail(&Failure{Workload: workload(ns, "w"), Config: group, Content: "bad", Began: b.now}, "h-"+ns, b.now)
	}
	var ended []*Halt
	for _, ns := range []string{"v", "w", "x"} {
		ended = append(ended, b.Recovered(workload(ns, "w"), group, readsAll)...)
	}
	for _, h := range ended {
		if len(h.Failed) == 0 {
			t.Error("it names no workload any more, so its end is reported on", h.Config)
		}
	}
}
