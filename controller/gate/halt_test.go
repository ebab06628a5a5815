package gate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestAFailureHaltsTheRestartsForItsKeys(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, second, other := due("canary", "level"), due("second", "level", "color"), due("other", "color")
	other.Causes[0].Moments = []names.Sequence{2}
	b.restart(canary)
	b.expect(SlowStart, second)
	h := b.fail(canary, "bad", "h1")
	if h == nil || h.ID != "h1" || !h.IsActive() || !h.Since.Equal(b.now) {
		t.Fatalf("%+v", h)
	}
	b.wakes("second")
	if answer := b.Ask(second, b.now); answer.Reason != Halted || answer.Halt != h {
		t.Errorf("%+v", answer)
	}
	b.restart(other)
	unknown := due("unknown")
	unknown.Causes[0].Moments = []names.Sequence{3}
	b.expect(Halted, unknown) // its keys may be the same
}

func TestAHaltWithoutKeysConcernsTheWholeConfig(t *testing.T) {
	b := newBook(t, gradual(50))
	b.restart(due("canary"))
	b.fail(due("canary"), "bad", "h1")
	b.expect(Halted, due("second", "color"))
	elsewhere := due("elsewhere")
	elsewhere.Causes = []Cause{causeOf("d", 1, "color")}
	b.restart(elsewhere)
}

func TestOneOfTwoConfigsIsEnoughForAHalt(t *testing.T) {
	b := newBook(t, gradual(50))
	b.restart(due("canary", "level"))
	b.fail(due("canary", "level"), "bad", "h1")
	both := due("both", "color")
	both.Causes[0].Moments = []names.Sequence{5}
	both.Causes = append(both.Causes, causeOf("d", 2), causeOf("c", 1, "level"))
	b.expect(Halted, both)
}

func TestAHaltEndsWhenItsKeysChange(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, second := due("canary", "level"), due("second", "level")
	b.restart(canary)
	b.fail(canary, "bad", "h1")
	b.expect(Halted, second)
	bad := func([]string) string { return "bad" }
	if ended := b.ContentChanged(config("c"), bad); len(ended) > 0 || len(b.Halted()) != 1 {
		t.Error("an edit of other keys ended the halt")
	}
	b.wakes()
	good := func(keys []string) string { return "good " + keys[0] }
	if ended := b.ContentChanged(config("c"), good); len(ended) != 1 || ended[0].ID != "h1" {
		t.Errorf("ended %v", ended)
	}
	b.check()
	b.wakes("second")
	b.restart(second)
}

func TestAHaltIsRememberedWhileItsContentIsGone(t *testing.T) {
	present := func(content string) func([]string) string { return func([]string) string { return content } }
	for name, test := range map[string]struct {
		meanwhile func(*book, *Halt)
		want      Reason
	}{
		"nothing happens":     {func(*book, *Halt) {}, Halted},
		"the config is gone":  {func(b *book, _ *Halt) { b.ContentChanged(config("c"), present("")) }, Halted},
		"the workload runs":   {func(b *book, h *Halt) { b.Recovered(h.Failed[0], h.Config, readsAll) }, Halted},
		"a person resumes it": {func(b *book, h *Halt) { b.Resume(h.Config, h.ID, b.now) }, SlowStart},
		"another process takes over": {func(b *book, h *Halt) {
			restored := *h
			b.Ledger = newLedger(b.policy, b.wake)
			b.Restore(restored, b.now)
		}, Halted},
		"nobody could tell it is back": {func(b *book, h *Halt) { b.NoteContent(h.Config, func(string) Presence { return Lost }) }, SlowStart},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(50))
			canary := due("canary", "level")
			b.restart(canary)
			h := b.fail(canary, "bad", "h1")
			b.ContentChanged(config("c"), present("good"))
			b.expect("", due("second", "level"))
			test.meanwhile(b, h)
			b.check()
			b.ContentChanged(config("c"), present("bad"))
			b.expect(test.want, due("third", "level"))
		})
	}
}

func TestTheOldestHaltOfAFormerContentIsForgotten(t *testing.T) {
	b := newBook(t, gradual(50))
	for i := range maxHaltsOf + 1 {
		b.now = b.now.Add(time.Minute)
		b.Fail(&Failure{Workload: workload("a", "w"), Config: config("c"), Content: fmt.Sprint(i), Began: b.now}, fmt.Sprintf("h%d", i), b.now)
		b.ContentChanged(config("c"), func([]string) string { return "good" })
	}
	if forgotten := b.TakeForgotten(); len(forgotten) != 1 || forgotten[0].ID != "h0" {
		t.Errorf("forgotten: %+v", forgotten)
	}
	b.check()
	b.ContentChanged(config("c"), func([]string) string { return "1" })
	b.expect(Halted, due("w"))
}

func TestTheFailedWorkloadGoesFirstAfterAFix(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, second, third := due("canary", "level"), due("second", "level"), due("third", "level")
	b.restart(canary)
	b.expect(SlowStart, second, third)
	b.fail(canary, "bad", "h1")
	b.expect(Halted, second, third)
	b.ContentChanged(config("c"), func([]string) string { return "good" })
	for _, r := range []*Request{canary, second, third} {
		r.Causes[0].Moments = []names.Sequence{2}
	}
	canary.Standing = Failed
	b.restart(third) // it was faster
	b.expect(SlowStart, second, canary)
	b.woken = nil
	b.deliver(third)
	b.wakes("canary")
	b.restart(canary)
	b.deliver(canary)
	b.wakes("second")
}

func TestAHaltEndsWhenAFailedWorkloadRunsAfterAll(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, second := due("canary"), due("second")
	b.restart(canary)
	b.fail(canary, "bad", "h1")
	b.expect(Halted, second)
	if ended := b.Recovered(workload("a", "stranger"), config("c"), readsAll); len(ended) > 0 {
		t.Error("a workload that had not failed ended the halt")
	}
	if ended := b.Recovered(canary.Workload, config("c"), readsAll); len(ended) != 1 {
		t.Error("the halt goes on")
	}
	b.wakes("second")
	b.restart(second)
}

func TestAHaltGoesOnIfAFailedWorkloadReadsItsKeysNoMore(t *testing.T) {
	b := newBook(t, gradual(50))
	canary := due("canary", "bad")
	b.restart(canary)
	b.fail(canary, "bad", "h1")
	released := func(h *Halt) bool { return !slices.Contains(h.Keys, "bad") }
	if ended := b.Recovered(canary.Workload, config("c"), released); len(ended) > 0 {
		t.Error("a workload that runs without the key ended the halt")
	}
	b.expect(Halted, due("second", "bad"))
}

func TestFailuresForAKeyThatTheyShareAddUp(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Failures: 1})
	for i, want := range []string{"", "h1"} { // both read the key bad, and each another one
		r := due(fmt.Sprintf("w%d", i), "bad", fmt.Sprintf("k%d", i))
		b.restart(r)
		if h := b.fail(r, fmt.Sprintf("content-%d", i), fmt.Sprintf("h%d", i)); (h == nil) != (want == "") {
			t.Fatalf("failure %d: %+v", i, h)
		}
	}
	b.expect(Halted, due("w2", "bad", "k2"))
	b.expect("", due("w3", "k0"))
	b.now = b.now.Add(time.Minute)
	b.Resume(config("c"), "h1", b.now)
	third := due("w4", "bad", "k4")
	b.Begin(third, b.now)
	if h := b.fail(third, "content-4", "h4"); h != nil {
		t.Error("failures from before the resumption count again:", h)
	}
}

func TestFailuresForKeysThatTheyDoNotShareDoNotAddUp(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Failures: 1})
	for _, key := range []string{"a", "b", "c"} {
		r := due("w-"+key, key)
		b.Begin(r, b.now)
		if h := b.fail(r, key, "h-"+key); h != nil {
			t.Error("one failure halted the key", key)
		}
	}
}

func TestResumingForgivesAnEarlierFailureForSomeOfTheKeys(t *testing.T) {
	b := newBook(t, gradual(50))
	first, began := due("first", "k", "l"), b.now
	b.restart(first)
	b.fail(first, "kl", "h1")
	b.now = b.now.Add(time.Minute)
	b.Resume(config("c"), "h1", b.now)
	earlier := func(content string, keys ...string) *Failure {
		return &Failure{Workload: workload("a", "second"), Config: config("c"), Keys: keys, Content: content, Began: began}
	}
	if h := b.Fail(earlier("k", "k"), "h2", b.now); h != nil {
		t.Error("what was resumed is halted again:", h)
	}
	if h := b.Fail(earlier("km", "k", "m"), "h3", b.now); h == nil {
		t.Error("nobody has resumed another key of the failed restart")
	}
}

func TestAPersonResumesAHaltByItsID(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, second := due("canary"), due("second")
	b.restart(canary)
	b.fail(canary, "bad", "h1")
	b.expect(Halted, second)
	if b.Resume(config("c"), "h2", b.now) != nil || b.Resume(config("d"), "h1", b.now) != nil {
		t.Error("resumed another halt")
	}
	b.wakes()
	h := b.Resume(config("c"), "h1", b.now)
	if h == nil || h.IsActive() || !h.Resumed.Equal(b.now) {
		t.Fatalf("%+v", h)
	}
	b.wakes("second")
	b.restart(second)
	if b.Resume(config("c"), "h1", b.now) != nil {
		t.Error("resumed twice")
	}
	if all := b.HaltsOf(config("c")); len(all) != 1 || all[0] != h {
		t.Error("it is not remembered that somebody resumed the restarts:", all)
	}
}

func TestResumingForgivesPastFailuresAndNoLaterOnes(t *testing.T) {
	b := newBook(t, gradual(50))
	canary := due("canary")
	b.restart(canary)
	b.fail(canary, "bad", "h1")
	began := b.now
	b.now = b.now.Add(time.Minute)
	b.Resume(config("c"), "h1", b.now)
	past := Failure{Workload: workload("a", "past"), Config: config("c"), Content: "bad", Began: began}
	if h := b.Fail(&past, "h2", b.now); h != nil {
		t.Error("a failure of a restart from before halted again:", h)
	}
	b.Recovered(canary.Workload, config("c"), readsAll)
	if h := b.Fail(&past, "h3", b.now); h != nil {
		t.Error("a recovery took back what was forgiven:", h)
	}
	later := Failure{Workload: workload("a", "later"), Config: config("c"), Content: "bad", Began: b.now, Evidence: Evidence{Pod: "later-1"}}
	if h := b.Fail(&later, "h4", b.now); h == nil || h.ID != "h4" || !h.Resumed.IsZero() || h.Evidence.Pod != "later-1" {
		t.Errorf("a later failure did not halt: %+v", h)
	}
	b.expect(Halted, due("second"))
}

func TestAsManyRestartsMayFailAsThePolicySays(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Failures: 2})
	r := []*Request{due("w0"), due("w1"), due("w2"), due("w3"), due("w4"), due("w5")}
	for i, want := range []string{"", "", "h2"} {
		b.restart(r[i])
		if h := b.fail(r[i], "bad", fmt.Sprintf("h%d", i)); (h == nil) != (want == "") || h != nil && h.ID != want {
			t.Fatalf("failure %d: %+v", i, h)
		}
	}
	b.expect(Halted, r[3])
	b.now = b.now.Add(time.Minute)
	b.Resume(config("c"), "h2", b.now)
	for i, want := range []string{"", "", "h5"} {
		b.restart(r[3+i])
		if h := b.fail(r[3+i], "bad", fmt.Sprintf("h%d", 3+i)); (h == nil) != (want == "") || h != nil && h.ID != want {
			t.Fatalf("failure %d after it was resumed: %+v", i, h)
		}
	}
}

func TestAHaltRemembersAFewFailedWorkloadsOnce(t *testing.T) {
	b := newBook(t, gradual(50))
	var h *Halt
	for _, name := range []string{"w1", "w1", "w2", "w3", "w4", "w5"} {
		h = b.Fail(&Failure{Workload: workload("a", name), Config: config("c"), Content: "bad"}, "h-"+name, b.now)
	}
	if len(h.Failed) != maxFailed || h.Failed[1].Name != "w2" || h.ID != "h-w1" {
		t.Errorf("%+v", h)
	}
}

func TestANamespaceWithTooManyHaltsIsHeld(t *testing.T) {
	b := newBook(t, gradual(50))
	for i := range maxHalts {
		b.expect("", &Request{Workload: workload("a", "probe"), Standing: Well, Causes: []Cause{causeOf("c", 1)}})
		failure := Failure{Workload: workload("a", "w"), Config: config(fmt.Sprintf("bad-%d", i)), Content: "bad"}
		b.Fail(&failure, fmt.Sprintf("h%d", i), b.now)
	}
	b.expect(Halted, due("second"))
	if answer := b.Ask(due("third"), b.now); answer.Halt.ID != "" || answer.Halt.Config.Namespace != "a" {
		t.Errorf("%+v", answer.Halt)
	}
	elsewhere := &Request{Workload: workload("b", "w"), Standing: Well}
	elsewhere.Causes = []Cause{{Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "b", Name: "c"}, IsGradual: true}}
	b.expect("", elsewhere)
	b.Recovered(workload("a", "w"), config("bad-3"), readsAll)
	b.check()
	b.wakes("second", "third")
}

func TestHaltsThatWereResumedAreForgottenBeforeThereAreTooMany(t *testing.T) {
	b := newBook(t, gradual(50))
	for i := range 3 * maxRemembered {
		b.now = b.now.Add(time.Minute)
		c := config(fmt.Sprintf("c-%d", i))
		h := b.Fail(&Failure{Workload: workload("a", "w"), Config: c, Content: "bad", Began: b.now}, fmt.Sprintf("h%d", i), b.now)
		if h == nil || h.Config != c || b.Resume(c, h.ID, b.now) == nil {
			t.Fatalf("halt %d: %+v", i, h)
		}
	}
	if n := len(b.Halted()); n != maxRemembered {
		t.Errorf("%d halts are remembered", n)
	}
	b.check()
}

func TestFailuresBeyondTheLimitOfANamespaceAreNotRemembered(t *testing.T) {
	b := newBook(t, gradual(50))
	for i := range 3 * maxHalts {
		failure := Failure{Workload: workload("a", "w"), Config: config(fmt.Sprintf("c-%d", i)), Content: "bad"}
		if h := b.Fail(&failure, fmt.Sprintf("h%d", i), b.now); h == nil {
			t.Fatalf("failure %d halts nothing", i)
		}
	}
	if n := len(b.Halted()); n != maxHalts {
		t.Errorf("%d halts are remembered", n)
	}
	b.expect(Halted, due("reader"))
	b.check()
}

func TestOthersHaveThePlaceOfARestartThatTakesTooLong(t *testing.T) {
	b := newBook(t, gradual(1))
	slow, other := due("slow"), due("other")
	other.Causes[0].Config.Name = "d"
	b.restart(slow)
	b.expect(Limit, other)
	b.FreePlace(slow.Workload)
	b.check()
	b.wakes("other")
	b.restart(other)
	b.deliver(slow, other)
}

func TestRestartsThatANewLeaderFindsTakeNoMorePlacesThanTheGateWouldGive(t *testing.T) {
	b := newBook(t, gradual(4))
	for i := range 10 {
		b.BeginFormer(due(fmt.Sprintf("forged-%d", i)), b.now)
		b.check()
	}
	victim := &Request{Workload: workload("b", "victim"), Standing: Well, Causes: []Cause{{
		Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "b", Name: "c"}, Moments: []names.Sequence{1}, IsGradual: true,
	}}}
	b.restart(victim)
	if b.places.taken != 4 {
		t.Errorf("%d places are taken", b.places.taken)
	}
}

func TestANewLeaderTakesInTheHalts(t *testing.T) {
	old := newBook(t, gradual(50))
	canary := due("canary", "level")
	old.restart(canary)
	old.fail(canary, "bad", "h1")
	b := newBook(t, gradual(50))
	for _, h := range old.HaltsOf(config("c")) {
		b.Restore(*h, start)
		b.Restore(*h, start) // it is there already
	}
	b.expect(Halted, due("second", "level"))
	b.now = b.now.Add(time.Minute)
	if b.Resume(config("c"), "h1", b.now) == nil {
		t.Fatal("the id is another one")
	}
	b.wakes("second")
	third := newBook(t, gradual(50))
	third.now = b.now
	for _, h := range b.HaltsOf(config("c")) {
		third.Restore(*h, third.now)
	}
	third.expect("", due("second", "level"))
	if h := third.fail(canary, "bad", "h2"); h == nil {
		t.Error("a failure after that did not halt")
	}
}

func TestAResumptionByAClockThatWasAheadForgivesNoLaterFailure(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, ahead := due("canary"), start.Add(5*time.Minute)
	b.Restore(Halt{ID: "h1", Config: config("c"), Content: "bad", Since: ahead, Resumed: ahead}, b.now)
	b.now = b.now.Add(time.Minute)
	b.restart(canary)
	if h := b.fail(canary, "bad", "h2"); h == nil {
		t.Error("the failure was forgiven")
	}
}

func TestARestoredHaltCountsMoreThanFailuresThatAreTooFew(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Failures: 1})
	canary := due("canary")
	b.restart(canary)
	if h := b.fail(canary, "bad", "h1"); h != nil {
		t.Fatal("one failure halted")
	}
	b.Restore(Halt{ID: "h0", Config: config("c"), Content: "bad", Failed: []names.WorkloadRef{workload("a", "old")}, Since: start}, start)
	if answer := b.Ask(due("second"), b.now); answer.Reason != Halted || answer.Halt.ID != "h0" {
		t.Errorf("%+v", answer)
	}
}

func TestHaltsDoNotConcernRestartsThatAreAllAtOnce(t *testing.T) {
	b := newBook(t, Policy{Limit: 50})
	b.Restore(Halt{ID: "h1", Config: config("c"), Content: "bad", Since: start}, start)
	r := due("w")
	r.Causes[0].IsGradual = false
	b.restart(r)
	b.expect(Halted, due("gradual"))
}

// They may be broken by the same key, but it is their own workloads that show that it works after all.
func TestEachHaltOfAConfigEndsByItself(t *testing.T) {
	b := newBook(t, gradual(50))
	first, second := due("first", "level"), due("second", "level", "color")
	second.Causes[0].IsUrgent = true
	b.restart(first)
	b.restart(second)
	b.fail(first, "bad", "h1")
	b.fail(second, "bad, too", "h2")
	for _, r := range []*Request{first, second} {
		if ended := b.Recovered(r.Workload, config("c"), readsAll); len(ended) != 1 || !slices.Contains(ended[0].Failed, r.Workload) {
			t.Errorf("%s: %d halts end", r.Workload.Name, len(ended))
		}
	}
	if halts := b.HaltsOf(config("c")); len(halts) > 0 {
		t.Errorf("%d halts are left", len(halts))
	}
}
