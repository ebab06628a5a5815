package gate

import (
	"fmt"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestEachDeliveryWakesAsManyAsMayBegin(t *testing.T) {
	b := newBook(t, gradual(50))
	r := []*Request{due("w0"), due("w1"), due("w2"), due("w3"), due("w4"), due("w5"), due("w6"), due("w7")}
	b.restart(r[0])
	b.expect(SlowStart, r[1:]...)
	b.wakes()
	b.deliver(r[0])
	b.wakes("w1")
	b.restart(r[1])
	b.wakes()
	b.deliver(r[1])
	b.wakes("w2", "w3")
	b.restart(r[2:4]...)
	b.deliver(r[2])
	b.wakes("w4", "w5") // three are proven, one is in flight
	b.restart(r[4:6]...)
	b.deliver(r[3])
	b.wakes("w6", "w7")
	b.restart(r[6:]...)
	b.deliver(r[4:]...)
	b.wakes()
	if len(b.fanOuts) > 0 {
		t.Error("the fan-out is not over")
	}
}

func TestARestartInItsSoakHoldsUpTheSlowStartOnly(t *testing.T) {
	b := newBook(t, gradual(1))
	first, second, other := due("first"), due("second"), due("other")
	other.Causes[0].Moments = []names.Sequence{2}
	b.restart(first)
	b.expect(SlowStart, second)
	b.expect(Limit, other)
	b.Rolled(first.Workload)
	b.wakes("other")
	b.restart(other)
	b.Deliver(first.Workload)
	b.wakes("second")
	b.expect(Limit, second)
}

func TestARefusedPatchLetsTheNextBegin(t *testing.T) {
	b := newBook(t, gradual(50))
	first, second := due("first"), due("second")
	b.expect("", first)
	b.expect(SlowStart, second)
	b.Release(first.Workload, true, false, b.now)
	b.check()
	b.wakes("second")
	b.restart(second)
	b.expect(SlowStart, first) // the retry waits like all others
	b.deliver(second)
	b.wakes("first")
	b.restart(first)
}

func TestAnUncertainRestartKeepsItsSlotUntilItIsKnownWhatBecameOfIt(t *testing.T) {
	for name, over := range map[string]func(*book, *Request){
		"it was not carried out": func(b *book, lost *Request) { b.Resolve(lost.Workload) },
		"it was": func(b *book, lost *Request) {
			b.Begin(lost, b.now)
			b.wakes()
			b.Deliver(lost.Workload)
		},
		"nothing shows it": func(b *book, _ *Request) {
			b.now = start.Add(uncertainSlots)
			b.Tick(b.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(1))
			lost, other := due("lost"), due("other")
			b.expect("", lost)
			b.expect(SlowStart, other)
			b.Release(lost.Workload, true, true, b.now)
			b.wakes()               // the content may have reached it
			b.Settle(lost.Workload) // a revert, and the watch has not shown the restart yet
			b.now = start.Add(uncertainSlots - time.Second)
			b.Tick(b.now)
			b.wakes()
			over(b, lost)
			b.check()
			b.wakes("other")
			b.restart(other)
		})
	}
}

func TestAnUncertainRestartOfAWorkloadThatIsDeletedKeepsItsSlotUntilItsDeadline(t *testing.T) {
	policy := gradual(1)
	policy.Deadline = time.Minute
	b := newBook(t, policy)
	lost, other := due("lost"), due("other")
	b.expect("", lost)
	b.expect(SlowStart, other)
	b.Release(lost.Workload, true, true, b.now)
	b.Forget(lost.Workload)
	b.Tick(start.Add(time.Minute - time.Second))
	b.check()
	b.wakes()
	b.Tick(start.Add(time.Minute))
	b.check()
	b.wakes("other")
}

func TestAWorkloadWithTwoUncertainRestartsKeepsTheSlotsOfBoth(t *testing.T) {
	b := newBook(t, gradual(5))
	first, again, other := due("lost"), due("lost"), due("other")
	again.Causes = []Cause{causeOf("own", 1)}
	b.expect("", first)
	b.Release(first.Workload, true, true, b.now)
	b.expect("", again)
	b.Release(again.Workload, true, true, b.now)
	b.check()
	b.expect(SlowStart, other)
	other.Causes = again.Causes
	b.expect(SlowStart, other)
	b.Resolve(first.Workload)
	b.wakes("other")
}

func TestAWorkloadThatIsPausedAfterItsRestartKeepsItsSlotAndNoPlace(t *testing.T) {
	policy := gradual(1)
	policy.Deadline = time.Minute
	b := newBook(t, policy)
	paused, other, bystander := due("paused"), due("other"), due("bystander")
	bystander.Causes = []Cause{causeOf("own", 1)}
	b.restart(paused)
	b.expect(SlowStart, other)
	again := due("paused")
	again.CannotRoll = true
	b.expect("", again)
	b.Begin(again, b.now)
	b.check()
	b.wakes()
	b.restart(bystander)
	b.deliver(bystander)
	b.Tick(start.Add(time.Minute))
	b.wakes("other")
}

func TestARestartThatIsSeenAgainKeepsItsSlot(t *testing.T) {
	policy := gradual(1)
	policy.Deadline = time.Minute
	b := newBook(t, policy)
	away, other := due("away"), due("other")
	b.restart(away)
	b.expect(SlowStart, other)
	b.End(away.Workload, start.Add(time.Minute), b.now)
	b.See(away.Workload)
	b.Tick(start.Add(time.Hour))
	b.check()
	b.wakes()
	b.deliver(away)
	b.wakes("other")
}

func TestARestartThatIsNotJudgedKeepsItsSlotUntilItsDeadline(t *testing.T) {
	for name, end := range map[string]func(*book, *Request){
		"nobody follows it": func(b *book, r *Request) { b.End(r.Workload, start.Add(time.Minute), b.now) },
		"it is deleted":     func(b *book, r *Request) { b.Forget(r.Workload) },
		"it restarts for something else": func(b *book, r *Request) {
			another := due("first")
			another.ID, another.Causes, another.Continues = "another", []Cause{causeOf("own", 1)}, b.ExposedTo(r.Workload)
			b.restart(another)
			b.End(r.Workload, start.Add(time.Minute), b.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := gradual(1)
			policy.Deadline = time.Minute
			b := newBook(t, policy)
			first, other := due("first"), due("other")
			b.restart(first)
			b.expect(SlowStart, other)
			end(b, first)
			b.now = start.Add(time.Minute - time.Second)
			b.Tick(b.now)
			b.check()
			b.wakes()
			b.now = start.Add(time.Minute)
			b.Tick(b.now)
			b.check()
			b.wakes("other")
			b.restart(other)
		})
	}
}

func TestEachUncertainRequestKeepsThePlaceForAWhile(t *testing.T) {
	b := newBook(t, gradual(1))
	lost, other := due("lost"), due("other")
	other.Causes[0].Moments = []names.Sequence{2}
	b.expect("", lost)
	b.Release(lost.Workload, true, true, b.now)
	b.expect(Limit, other)
	b.now = start.Add(uncertainPlace - time.Second)
	b.expect("", lost) // it has the place already
	b.Release(lost.Workload, true, true, b.now)
	b.now = start.Add(2*uncertainPlace - 2*time.Second)
	b.Tick(b.now)
	b.wakes()
	b.now = start.Add(2*uncertainPlace - time.Second)
	b.Tick(b.now)
	b.wakes("other")
}

func TestAnUncertainRestartThatIsTriedAgainIsOneOfItsFanOut(t *testing.T) {
	b := newBook(t, gradual(50))
	lost, other := due("lost"), due("other")
	says := func(want Progress) {
		t.Helper()
		for p := range b.Progress() {
			if want.FanOut, want.Since = p.FanOut, p.Since; p != want {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
	}
	b.expect("", lost)
	b.expect(SlowStart, other)
	b.Release(lost.Workload, true, true, b.now)
	says(Progress{Waiting: 2})
	b.expect("", lost)
	says(Progress{Waiting: 2})
	b.Release(lost.Workload, true, false, b.now)
	b.Refuse(lost.Workload, true)
	says(Progress{Waiting: 2, Refused: 1})
	b.Begin(lost, b.now)
	says(Progress{Waiting: 1, UnderWay: 1})
	b.Settle(other.Workload)
	says(Progress{UnderWay: 1, Unserved: 1})
}

func TestAnUncertainRestartThatTurnsOutToHaveBegunCountsOnce(t *testing.T) {
	b := newBook(t, gradual(2))
	lost := due("lost")
	b.expect("", lost)
	b.Release(lost.Workload, true, true, b.now)
	b.Begin(lost, b.now)
	b.check()
	if b.places.taken != 1 {
		t.Errorf("holds %d places", b.places.taken)
	}
	b.Rolled(lost.Workload)
	b.check()
	if b.places.taken != 0 {
		t.Errorf("holds %d places when all pods run", b.places.taken)
	}
}

func TestANewRestartOfAWorkloadTakesThePlaceOfTheOneUnderWay(t *testing.T) {
	b := newBook(t, gradual(1))
	first := due("w")
	b.restart(first)
	second := due("w")
	second.Causes[0].Moments = []names.Sequence{2}
	b.restart(second) // there is only one place
	if _, exists := b.fanOuts[FanOut{config("c"), 1}]; exists {
		t.Error("the first fan-out is not over")
	}
	b.deliver(second)
	if b.places.taken != 0 {
		t.Error("the place is not free")
	}
}

func TestARevertCountsThoseThatRunTheContentAlready(t *testing.T) {
	b := newBook(t, gradual(50))
	requests := []*Request{due("w0"), due("w1"), due("w2"), due("w3"), due("w4")}
	id := FanOut{config("c"), 1}
	b.restart(requests[0])
	b.expect(SlowStart, requests[1:]...)
	if !b.NeedsCount(id) {
		t.Fatal("needs no count")
	}
	b.CountRunning(id, running(workload("a", "x1"), workload("a", "x2"), workload("a", "x3"), workload("a", "w0")))
	b.check()
	b.wakes("w1", "w2") // three prove it, and w0 is under way
	if b.NeedsCount(id) {
		t.Error("needs another count")
	}
	b.CountRunning(id, make([]catalog.Runner, 100))
	b.wakes()
	if b.NeedsCount(FanOut{config("c"), 9}) {
		t.Error("a fan-out without restarts needs a count")
	}
}

// A fan-out that was over, or a new leader, counts them.
func TestThoseThatRunProveNothingForReadersOfOtherKeys(t *testing.T) {
	b := newBook(t, gradual(50))
	first, second, other := due("bad-0", "bad"), due("bad-1", "bad"), due("good", "good")
	b.restart(first)
	b.expect(SlowStart, second, other)
	b.CountRunning(FanOut{config("c"), 1}, []catalog.Runner{
		{Workload: workload("a", "good-1"), Keys: []string{"good"}}, {Workload: workload("a", "good-2"), Keys: []string{"good"}}, {Workload: workload("a", "all"), Keys: []string{"bad", "good"}},
	})
	b.wakes()
	b.expect(SlowStart, second)
	b.expect("", other)
}

func TestACountDoesNotCountDeliveriesTwice(t *testing.T) {
	b := newBook(t, gradual(50))
	first, second, third := due("w0"), due("w1"), due("w2")
	b.restart(first)
	b.expect(SlowStart, second, third)
	b.deliver(first)
	b.wakes("w1")
	b.CountRunning(FanOut{config("c"), 1}, running(first.Workload))
	b.wakes()
	b.restart(second)
	b.expect(SlowStart, third)
}

func TestARestartForTwoConfigsIsAdmittedByBoth(t *testing.T) {
	b := newBook(t, gradual(50))
	both := due("both")
	both.Causes = append(both.Causes, causeOf("d", 2))
	onlyD := due("only-d")
	onlyD.Causes = []Cause{causeOf("d", 2)}
	onlyC := due("only-c")
	b.restart(onlyD)
	b.expect(SlowStart, both)
	b.restart(onlyC) // the other takes no place in the fan-out of c while it waits for that of d
	b.deliver(onlyD)
	b.wakes("both")
	b.expect(SlowStart, both)
	b.deliver(onlyC)
	b.wakes("both")
	b.restart(both)
	b.expect(SlowStart, due("another-c"))
}

// Its status has changed meanwhile, so its patch does not fit.
func TestAWorkloadThatGoesFirstStaysSoAfterAConflict(t *testing.T) {
	b := newBook(t, gradual(50))
	broken, well := due("broken"), due("well")
	broken.Standing = Failed
	b.GoFirst(config("c"), []names.WorkloadRef{broken.Workload}, start.Add(time.Minute))
	b.expect("", broken)
	b.Release(broken.Workload, true, false, start)
	b.expect(SlowStart, well)
	b.restart(broken)
	b.deliver(broken)
	b.restart(well)
}

func TestNobodyWaitsForAWorkloadThatIsRefusedToGoFirst(t *testing.T) {
	b := newBook(t, gradual(50))
	broken, well := due("broken"), due("well")
	broken.Standing = Failed
	b.GoFirst(config("c"), []names.WorkloadRef{broken.Workload}, start.Add(time.Minute))
	b.expect("", broken)
	b.Release(broken.Workload, true, false, start)
	b.Refuse(broken.Workload, true)
	b.restart(well)
}

// A new leader does not know which keys others see.
func TestReadersThatSeeUnknownKeysProveAContentForAll(t *testing.T) {
	b := newBook(t, gradual(50))
	known, unknown := due("known", "k"), due("unknown")
	known.Causes[0].Moments, unknown.Causes[0].Moments = []names.Sequence{0}, []names.Sequence{0}
	another := due("another")
	another.Causes = unknown.Causes
	b.restart(known)
	b.expect(SlowStart, unknown, another)
	b.deliver(known)
	b.restart(unknown)
	b.CountRunning(FanOut{config("c"), 0}, running(workload("a", "third")))
	b.deliver(unknown)
	b.restart(another)
}

// One edit changes a good key and a bad one, and nobody reads both.
func TestAReaderProvesNothingForThoseThatSeeOtherKeys(t *testing.T) {
	b := newBook(t, gradual(50))
	var good, bad []*Request
	for i := range 4 {
		good, bad = append(good, due(fmt.Sprint("good-", i), "good")), append(bad, due(fmt.Sprint("bad-", i), "bad"))
	}
	b.restart(good[0])
	b.expect(SlowStart, good[1:]...)
	b.expect(SlowStart, bad...)
	b.deliver(good[0])
	b.wakes("good-1")
	b.restart(good[1])
	b.deliver(good[1])
	b.wakes("good-2", "good-3")
	b.restart(good[2:]...)
	b.deliver(good[2:]...)
	b.wakes("bad-0")
	b.restart(bad[0])
	b.expect(SlowStart, bad[1:]...)
	b.deliver(bad[0])
	b.wakes("bad-1")
}

func TestFailedWorkloadsComeFirstAndUnwellOnesLast(t *testing.T) {
	b := newBook(t, gradual(50))
	first, unwell, alsoUnwell, well, failed := due("first"), due("unwell"), due("also-unwell"), due("well"), due("failed")
	unwell.Standing, alsoUnwell.Standing, failed.Standing = Unwell, Unwell, Failed
	b.restart(first)
	b.expect(SlowStart, unwell, alsoUnwell, well, failed)
	b.deliver(first)
	b.wakes("failed")
	b.restart(failed)
	b.deliver(failed)
	b.wakes("well")
	b.restart(well)
	b.deliver(well)
	b.wakes("unwell", "also-unwell") // without a slow start
	b.restart(unwell, alsoUnwell)
	b.expect("", due("another")) // nobody waits for them
}

func TestAWorkloadThatLacksPodsComesAfterWellOnesAndProvesAsMuch(t *testing.T) {
	b := newBook(t, gradual(50))
	lacking, alsoLacking, well, unwell := due("lacking"), due("also-lacking"), due("well"), due("unwell")
	lacking.Standing, alsoLacking.Standing, unwell.Standing = Lacking, Lacking, Unwell
	b.restart(due("first"))
	b.expect(SlowStart, unwell, lacking, alsoLacking, well)
	b.deliver(due("first"))
	b.wakes("well")
	b.restart(well)
	b.End(well.Workload, start, start)
	b.wakes("lacking")
	b.restart(lacking)
	b.expect(SlowStart, alsoLacking, unwell)
	b.deliver(lacking)
	b.wakes("also-lacking")
	for p := range b.Progress() {
		if p.Proven != 2 {
			t.Errorf("%+v", p)
		}
	}
}

func TestAWorkloadThatLacksPodsLeavesTheFirstTurnToOthers(t *testing.T) {
	b := newBook(t, gradual(10))
	lacking, well := due("lacking"), due("well")
	lacking.Standing, lacking.YieldsUntil, well.YieldsUntil = Lacking, start.Add(YieldTime), start.Add(YieldTime)
	b.expect(SlowStart, lacking)
	if got := b.Explain(lacking, b.now).Until; !got.Equal(lacking.YieldsUntil) {
		t.Errorf("it asks again at %v, want %v", got, lacking.YieldsUntil)
	}
	b.CountRunning(FanOut{config("c"), 1}, nil) // which calls nobody
	b.wakes()

	b.restart(well)
	b.now = lacking.YieldsUntil
	b.expect(SlowStart, lacking)
	b.deliver(well)
	b.wakes("lacking")
	b.restart(lacking)
}

func TestAWorkloadThatLacksPodsComesFirstIfNobodyElseDoes(t *testing.T) {
	b := newBook(t, gradual(10))
	lacking, other := due("lacking"), due("other")
	lacking.Standing, lacking.YieldsUntil = Lacking, start.Add(YieldTime)
	b.expect(SlowStart, lacking)
	b.now = lacking.YieldsUntil
	b.restart(lacking)
	b.expect(SlowStart, other)
	b.deliver(lacking)
	b.wakes("other")
}

func TestAnUnwellWorkloadProvesNothing(t *testing.T) {
	b := newBook(t, gradual(50))
	unwell, first, second := due("unwell"), due("first"), due("second")
	unwell.Standing = Unwell
	b.restart(unwell, first)
	b.expect(SlowStart, second)
	b.deliver(unwell)
	b.wakes()
	for p := range b.Progress() {
		if p.Proven != 0 || p.Mended != 1 {
			t.Errorf("%+v", p)
		}
	}
}

func TestUrgentRestartsSkipTheSlowStartButNotTheLimit(t *testing.T) {
	b := newBook(t, gradual(2))
	first, second, third := due("first"), due("second"), due("third")
	second.Causes[0].IsUrgent, third.Causes[0].IsUrgent = true, true
	b.restart(first, second)
	b.expect(Limit, third)
}

func TestRestartsOfSeveralNamespacesTakeTurnsAtPlaces(t *testing.T) {
	b := newBook(t, gradual(4))
	request := func(namespace, name string) *Request {
		return &Request{Workload: workload(namespace, name), Standing: Well}
	}
	b.restart(request("a", "a1"), request("a", "a2"))
	b.restart(request("b", "b1"), request("b", "b2"))
	b.expect(Limit, request("a", "a3"), request("a", "a4"), request("b", "b3"), request("b", "b4"), request("c", "c1"))
	b.deliver(request("a", "a1"))
	b.wakes("a3")
	b.restart(request("a", "a3"))
	b.deliver(request("b", "b1"))
	b.wakes("b3")
	b.restart(request("b", "b3"))
	b.deliver(request("a", "a2"))
	b.wakes("c1")
}

// Of the free places no more are offered to a namespace than it may take.
func TestANamespaceIsOfferedNoMorePlacesThanItMayTake(t *testing.T) {
	b := newBook(t, gradual(8))
	request := func(namespace, name string) *Request {
		return &Request{Workload: workload(namespace, name), Standing: Well}
	}
	var first []*Request
	for _, name := range []string{"b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1"} {
		r := request(name[:1], name)
		b.restart(r)
		first = append(first, r)
	}
	for _, name := range []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"} {
		b.expect(Limit, request("a", name))
	}
	b.deliver(first...)
	for served := 0; served < len(b.woken); served++ {
		b.restart(request("a", b.woken[served]))
	}
	b.wakes("a1", "a2", "a3", "a4", "a5") // it holds as many as are free when it takes the last one
}

func TestWavesFollowEachOther(t *testing.T) {
	b := newBook(t, gradual(50))
	canary, database, client := due("canary"), due("database"), due("client")
	canary.Wave, client.Wave = -1, 5
	client.Causes, database.Causes = nil, nil
	b.restart(canary)
	b.expect(Wave, client, database)
	b.Rolled(canary.Workload) // the soak does not hold up waves
	b.check()
	b.wakes("database")
	b.restart(database)
	b.End(database.Workload, time.Time{}, start) // failed or neutral ones do not hold them up either
	b.wakes("client")
	b.restart(client)
}

func TestAHeldWorkloadBlocksLaterWaves(t *testing.T) {
	b := newBook(t, gradual(50))
	held, later := due("held"), due("later")
	held.Hold, later.Wave = "not before the audit", 1
	b.expect(Hold, held)
	b.expect(Wave, later)
	b.Settle(held.Workload)
	b.wakes("later")
	b.restart(later)
}

func TestAHeldWorkloadThatCannotRollBlocksNobody(t *testing.T) {
	b := newBook(t, gradual(50))
	paused, later := due("paused"), due("later")
	paused.Hold, paused.CannotRoll, later.Wave = "not before the audit", true, 1
	b.expect(Hold, paused)
	b.restart(later)
	paused.Hold = ""
	b.expect("", paused)
	b.Begin(paused, b.now)
	b.check()
	if b.size() != 1 {
		t.Error("it is kept though nothing follows")
	}
}

func TestAWaveWaitsForThoseOfWhichItIsNotKnownWhetherTheyAreDue(t *testing.T) {
	b := newBook(t, gradual(50))
	first, later := due("first"), due("later")
	later.Wave = 1
	b.Expect(first.Workload, 0)
	b.expect(Wave, later)
	b.Expect(workload("a", "another"), 0)
	b.Settle(first.Workload)
	b.wakes()
	b.Settle(workload("a", "another"))
	b.check()
	b.wakes("later")
}

func TestAWorkloadMayBeExpectedInAnotherWaveWhileItWaits(t *testing.T) {
	b := newBook(t, gradual(50))
	first, moving := due("first"), due("moving")
	moving.Wave = 2
	b.restart(first)
	b.expect(Wave, moving)
	b.Expect(moving.Workload, 1)
	b.check()
	moving.Wave = 1
	b.expect(Wave, moving)
	b.deliver(first)
	b.wakes("moving")
	b.restart(moving)
}

func TestAReleasedRestartHoldsUpLaterWavesOnlyIfItCountsAsDue(t *testing.T) {
	b := newBook(t, gradual(50))
	failing, later := due("failing"), due("later")
	later.Wave = 1
	b.expect("", failing)
	b.expect(Wave, later)
	b.Release(failing.Workload, true, false, b.now)
	b.wakes()
	b.expect("", failing)
	b.Release(failing.Workload, false, false, b.now)
	b.wakes("later")
}

// Everybody who has not got the content is missing when its fan-out ends.
func TestAFanOutIsFinishedOnlyIfNobodyWasLeftOut(t *testing.T) {
	for name, leaveOut := range map[string]func(*book, *Request){
		"its patch is refused again and again": func(b *book, r *Request) {
			for range 3 {
				b.expect("", r)
				b.Release(r.Workload, true, false, b.now)
			}
		},
		"the answers are lost": func(b *book, r *Request) {
			b.expect("", r)
			b.Release(r.Workload, true, true, b.now)
			b.Resolve(r.Workload)
		},
		"its error is ignored": func(b *book, r *Request) {
			b.expect("", r)
			b.Release(r.Workload, false, false, b.now)
		},
		"another edit replaced the content before it restarted": func(b *book, r *Request) {
			r.Hold = "a freeze"
			b.expect(Hold, r)
			r.Causes = []Cause{causeOf("c", 2)}
			b.expect(Hold, r)
		},
		"another restart replaced its own": func(b *book, r *Request) {
			b.restart(r)
			other := *r
			other.Causes = []Cause{causeOf("c", 2)}
			b.restart(&other)
		},
		"it was paused": func(b *book, r *Request) {
			r.Hold = "a freeze"
			b.expect(Hold, r)
			r.Hold, r.CannotRoll = "", true
			b.restart(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(50))
			first, second, last := due("first"), due("second"), due("last")
			second.Hold = "a freeze"
			b.expect(Hold, second) // so that the fan-out goes on
			leaveOut(b, last)
			second.Hold = ""
			b.End(last.Workload, time.Time{}, start)
			b.restart(first)
			b.deliver(first)
			b.restart(second)
			b.deliver(second)
			b.check()
			for _, p := range b.TakeFinished() {
				if p.FanOut.Moment == 1 && p.Unserved == 0 {
					t.Errorf("finished with %d delivered", p.Delivered)
				}
			}
		})
	}
}

func TestAFanOutIsFinishedWhenAWorkloadThatWasRefusedHasGotTheContent(t *testing.T) {
	b := newBook(t, gradual(50))
	first, refused := due("first"), due("refused")
	b.expect("", refused)
	b.Release(refused.Workload, true, false, b.now)
	b.requireBothDelivered(first, refused)
}

// Each retry joins the fan-out again, and is passed by again.
func TestAWorkloadWhoseErrorIsIgnoredCountsOnceHoweverOftenItIsRetried(t *testing.T) {
	b := newBook(t, gradual(50))
	ignored, other := due("ignored"), due("other")
	other.Hold = "a freeze"
	b.expect(Hold, other) // so that the fan-out goes on
	for range 10 {
		b.expect("", ignored)
		if b.check(); b.unserved() != 0 {
			t.Fatalf("%d are unserved while it is tried again", b.unserved())
		}
		b.Release(ignored.Workload, false, false, b.now)
		if b.check(); b.unserved() != 1 {
			t.Fatalf("%d are unserved", b.unserved())
		}
	}
	other.Hold = ""
	b.requireBothDelivered(ignored, other)
}

func TestARestartThatFailedAndIsRepeatedCountsOnce(t *testing.T) {
	b := newBook(t, gradual(50))
	failing, other := due("failing"), due("other")
	other.Hold = "a freeze"
	b.expect(Hold, other)
	for range 3 {
		b.restart(failing)
		b.End(failing.Workload, time.Time{}, start)
		if b.check(); b.unserved() != 1 {
			t.Fatalf("%d are unserved", b.unserved())
		}
	}
	b.Settle(other.Workload)
	b.restart(failing)
	b.deliver(failing)
	if b.unserved() != 0 {
		t.Errorf("%d are unserved in a fan-out that is over", b.unserved())
	}
}

func TestAWorkloadThatIsGoneHoldsUpNobody(t *testing.T) {
	b := newBook(t, gradual(1))
	first, second := due("first"), due("second")
	b.restart(first)
	b.expect(SlowStart, second)
	b.Forget(first.Workload)
	b.wakes() // its pods have shown nothing
	b.Tick(b.now.Add(b.policy.Deadline))
	b.wakes("second")
	b.expect("", second)
	b.Forget(second.Workload)
	b.Forget(workload("a", "unknown"))
	b.check()
}

// A new leader has no moments of edits from before, so it counts them all as one.
func TestANewLeaderCountsTheRestartsThatItFinds(t *testing.T) {
	b := newBook(t, gradual(2))
	found, second := due("found"), due("second")
	found.Causes[0].Moments, second.Causes[0].Moments = []names.Sequence{0}, []names.Sequence{0}
	b.Begin(found, b.now)
	b.expect(SlowStart, second)
	newer := due("newer")
	b.restart(newer)
	third := due("third")
	third.Causes[0].Moments = []names.Sequence{3}
	b.expect(Limit, third)
	b.deliver(found)
	b.wakes("second", "third")
}

func TestNothingWaitsWithoutGradualConfigsButForItsBudget(t *testing.T) {
	b := newBook(t, Policy{Limit: 1})
	for _, name := range []string{"w1", "w2", "w3"} {
		r := due(name)
		r.Causes[0].IsGradual = false
		b.restart(r)
	}
	slowed := due("slowed")
	slowed.Causes[0].IsGradual, slowed.Wait = false, time.Minute
	if answer := b.Ask(slowed, b.now); answer.Reason != Backoff || !answer.Until.Equal(b.now.Add(time.Minute)) {
		t.Errorf("%+v", answer)
	}
}

func TestTheOthersWaitUntilItIsKnownWhetherTheBrokenWorkloadRestarts(t *testing.T) {
	b := newBook(t, gradual(10))
	broken, other := due("broken"), due("other")
	broken.Standing = Failed
	config := other.Causes[0].Config
	b.GoFirst(config, []names.WorkloadRef{broken.Workload}, start.Add(time.Minute))
	b.expect(SlowStart, other)
	b.expect("", broken)
	b.wakes()
	b.Begin(broken, b.now)
	b.deliver(broken)
	b.wakes("other")
}

// It was edited after the restart was admitted, so the restart says nothing about it: the workload is looked at again.
func TestTheOthersWaitForABrokenWorkloadThatBeginsForAnotherConfig(t *testing.T) {
	b := newBook(t, gradual(10))
	broken, other := due("broken"), due("other")
	broken.Causes = []Cause{causeOf("d", 1)}
	b.expect("", broken)
	b.GoFirst(config("c"), []names.WorkloadRef{broken.Workload}, start.Add(time.Minute))
	b.Begin(broken, b.now)
	b.expect(SlowStart, other)
	b.Settle(broken.Workload)
	b.wakes("other")
	b.restart(other)
}

func TestNobodyWaitsForABrokenWorkloadThatDoesNotRestart(t *testing.T) {
	for name, leave := range map[string]func(*book, *Request){
		"it is up to date":    func(b *book, r *Request) { b.Settle(r.Workload) },
		"it is gone":          func(b *book, r *Request) { b.Forget(r.Workload) },
		"its patch is denied": func(b *book, r *Request) { b.Release(r.Workload, false, false, b.now) },
		"nothing is heard":    func(b *book, _ *Request) { b.now = start.Add(time.Minute + time.Second); b.Tick(b.now) },
		"a person must act":   func(b *book, r *Request) { r.Hold = "why"; b.expect(Hold, r) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t, gradual(10))
			broken, other := due("broken"), due("other")
			broken.Standing = Failed
			b.GoFirst(other.Causes[0].Config, []names.WorkloadRef{broken.Workload}, start.Add(time.Minute))
			b.expect(SlowStart, other)
			leave(b, broken)
			b.wakes("other")
		})
	}
}

func TestARestartWithoutAnAnswerThatIsRefusedLaterCountsOnce(t *testing.T) {
	b := newBook(t, gradual(50))
	lost := due("lost")
	for _, isUncertain := range []bool{false, true, false} {
		b.expect("", lost)
		b.Release(lost.Workload, true, isUncertain, b.now)
		b.Refuse(lost.Workload, !isUncertain)
	}
	for p := range b.Progress() {
		if held := b.Due(p.FanOut.Config); p.Waiting != 1 || p.Refused != 1 || held != 1 {
			t.Errorf("%+v, and %d held", p, held)
		}
	}
}

// Workloads that ask again only after a day keep the fan-outs of all the content that others have seen replaced since.
func TestWhatANamespaceKeepsOfFanOutsThatItLeavesIsBounded(t *testing.T) {
	b := newLedger(gradual(50), func(names.WorkloadRef) {})
	for round := range 20 {
		cause := Cause{Config: config("c"), IsGradual: true, Moments: []names.Sequence{names.Sequence(round + 1)}} //nolint:gosec // a small number
		for i := range 300 {
			b.Ask(&Request{Workload: workload("a", fmt.Sprint("held-", i)), Hold: "wait", Standing: Well, Causes: []Cause{cause}}, start)
		}
		b.Ask(&Request{Workload: workload("a", fmt.Sprint("parked-", round)), Hold: "wait", Standing: Well, Causes: []Cause{cause}}, start)
	}
	kept := 0
	for _, f := range b.fanOuts {
		kept += len(f.unserved)
	}
	if len(b.fanOuts) != 20 || kept > maxUnserved || kept != b.unserved["a"] {
		t.Errorf("%d fan-outs keep %d workloads, counted %d", len(b.fanOuts), kept, b.unserved["a"])
	}
	for i := range 300 {
		b.Forget(workload("a", fmt.Sprint("held-", i)))
	}
	for round := range 20 {
		b.Forget(workload("a", fmt.Sprint("parked-", round)))
	}
	if len(b.fanOuts) > 0 || len(b.unserved) > 0 {
		t.Errorf("in the end: %d fan-outs, %v", len(b.fanOuts), b.unserved)
	}
}

// Each that waits may ask for whom, and those may be very many.
func TestTheLedgerLooksForTheOneThatAWaveWaitsForAmongAFewOnly(t *testing.T) {
	b := newBook(t, gradual(5))
	for i := range 2 * mostLooks {
		b.Expect(workload("a", fmt.Sprint(i)), 0)
	}
	if b.Blocker("a").Workload.Name == "" {
		t.Error("none was found")
	}
	for i := range 2 * mostLooks {
		b.Expect(workload("a", fmt.Sprint(i)), 2)
	}
	b.Expect(workload("a", "first"), 1)
	found := 0
	for range 20 { // in no particular order
		if blocker := b.Blocker("a"); blocker.Wave != 1 {
			t.Fatalf("found %+v", blocker)
		} else if blocker.Workload.Name != "" {
			found++
		}
	}
	if found == 20 {
		t.Error("it was found among all each time")
	}
}

// Whoever edits a config to another content and back makes a fan-out each time.
func TestAWorkloadTakesSlotsInNotMoreAndMoreFanOuts(t *testing.T) {
	t.Run("exposed", func(t *testing.T) {
		b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
		b.restart(due("x", "k"))
		for n := range 300 {
			cause := causeOf("c", names.Sequence(2+n), "k")
			b.Expose(&Exposure{Workload: workload("a", "x"), Config: cause.Config, Content: "A", Until: b.now.Add(time.Hour)}, &cause, b.now)
			b.expect(SlowStart, &Request{Workload: workload("a", "y"), Standing: Well, Causes: []Cause{cause}})
			b.Settle(workload("a", "y"))
		}
		if count := b.FanOuts(); count > maxContinued+1 {
			t.Errorf("%d fan-outs", count)
		}
	})
	t.Run("without an answer", func(t *testing.T) {
		b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
		for n := range 300 {
			b.Ask(&Request{Workload: workload("a", "x"), Standing: Well, Causes: []Cause{causeOf("c", names.Sequence(1+n), "k")}}, b.now)
			b.Release(workload("a", "x"), true, true, b.now)
			b.now = b.now.Add(40 * time.Second)
			b.Tick(b.now)
		}
		if count := b.FanOuts(); count > maxContinued+1 {
			t.Errorf("%d fan-outs", count)
		}
	})
}

// x restarts for the configs c and d. d goes to another content and back, again and again, so x is exposed to one more fan-out of it each time.
// The content of c does not change, and nobody has judged it.
func TestExposuresToOneConfigFreeNoSlotOfAnotherOne(t *testing.T) {
	b := newBook(t, Policy{Gradual: true, Limit: 50, Deadline: 10 * time.Minute})
	b.restart(due("x", "k"))
	b.expect(SlowStart, due("y", "k"))
	for n := range 64 {
		cause := causeOf("d", names.Sequence(2+n), "k")
		b.Expose(&Exposure{Workload: workload("a", "x"), Config: cause.Config, Content: "A", Until: b.now.Add(10 * time.Minute)}, &cause, b.now)
		b.check()
	}
	if !b.IsPartOf(workload("a", "x"), config("c")) {
		t.Error("if x fails, that does not count for c")
	}
	b.expect(SlowStart, due("y", "k"))
}

func TestReadersOfTwoEditsCountOnce(t *testing.T) {
	b := newBook(t, gradual(50))
	of := func(name string) *Request {
		r := due(name, "a", "b")
		r.Causes[0].Moments = []names.Sequence{1, 2} // a edited at 1, b at 2, within one grace period
		return r
	}
	first, second, third := of("first"), of("second"), of("third")
	b.restart(first)
	b.expect(SlowStart, second, third)
	b.CountRunning(FanOut{config("c"), 1}, nil) // as Ask does
	b.deliver(first)
	b.restart(second)
	// as CountedProgress does for the Event FanOut of the second edit
	b.CountRunning(FanOut{config("c"), 2}, []catalog.Runner{{Workload: first.Workload, Keys: []string{"b"}}})
	for p := range b.ProgressOf(config("c")) {
		if p.Proven != 1 || p.Total() != 3 {
			t.Errorf("edit %d: %d of %d delivered, want 1 of 3", p.FanOut.Moment, p.Proven, p.Total())
		}
	}
}
