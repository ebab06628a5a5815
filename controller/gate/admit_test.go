package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestTheFirstReasonInOrderIsTheAnswer(t *testing.T) {
	halt := &Halt{ID: "h1"}
	fanOut := FanOut{names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}, 7}
	everything := Case{
		Request: Request{
			Hold: "a freeze", Missing: "configmap/c does not exist", Wait: time.Minute, Closed: "its window", Opens: start.Add(time.Hour), Standing: Well,
		},
		Halt: halt, AfterWave: true,
		FanOuts:    []Tally{{FanOut: FanOut{Moment: 1}}, {FanOut: fanOut, InFlight: 1}},
		TakesPlace: true, Places: 1, Taken: 1,
	}
	for _, step := range []struct {
		answer  Answer
		resolve func(*Case)
	}{
		{Answer{Reason: Hold, Text: "a freeze"}, func(c *Case) { c.Hold = "" }},
		{Answer{Reason: Halted, Halt: halt}, func(c *Case) { c.Halt = nil }},
		{Answer{Reason: Missing, Text: "configmap/c does not exist"}, func(c *Case) { c.Missing = "" }},
		{Answer{Reason: Backoff, Until: start.Add(time.Minute)}, func(c *Case) { c.Wait = 0 }},
		{Answer{Reason: Window, Until: start.Add(time.Hour), Text: "its window"}, func(c *Case) { c.Closed = "" }},
		{Answer{Reason: Wave}, func(c *Case) { c.AfterWave = false }},
		{Answer{Reason: SlowStart, FanOut: fanOut}, func(c *Case) { c.FanOuts[1].InFlight = 0 }},
		{Answer{Reason: Limit}, func(c *Case) { c.Taken = 0 }},
		{Answer{}, func(*Case) {}},
	} {
		got := Admit(&everything, start)
		if diff := cmp.Diff(step.answer, got, cmp.AllowUnexported(Halt{}, line{})); diff != "" {
			t.Error(diff)
		}
		if got.MayBegin() != (step.answer.Reason == "") {
			t.Errorf("%v: may begin: %v", got.Reason, got.MayBegin())
		}
		step.resolve(&everything)
	}
}

func TestReasonsAreListedInTheOrderInWhichAdmitAsks(t *testing.T) {
	want := []Reason{Hold, Halted, Missing, Backoff, Window, Wave, SlowStart, Limit}
	if diff := cmp.Diff(want, Reasons); diff != "" {
		t.Error(diff)
	}
	for i, reason := range Reasons {
		if reason.NeedsPerson() != (i < 3) {
			t.Errorf("%s: a person has to act: %v", reason, reason.NeedsPerson())
		}
	}
}

// Windows, waves, slow starts and the limit are about pods that restart.
func TestAWorkloadThatCannotRollWaitsForNoOtherWorkload(t *testing.T) {
	c := Case{
		Request:   Request{CannotRoll: true, Closed: "its window", Standing: Unwell},
		AfterWave: true, FanOuts: []Tally{{InFlight: 1}}, TakesPlace: true,
	}
	if answer := Admit(&c, start); !answer.MayBegin() {
		t.Error("waits for", answer.Reason)
	}
	for _, reason := range []Reason{Hold, Halted, Backoff} {
		held := c
		switch reason {
		case Hold:
			held.Hold = "a freeze"
		case Halted:
			held.Halt = &Halt{}
		case Backoff:
			held.Wait = time.Second
		}
		if answer := Admit(&held, start); answer.Reason != reason {
			t.Errorf("%s does not hold it: %q", reason, answer.Reason)
		}
	}
}

func TestAWindowThatNeverOpensHasNoTimeToAskAgain(t *testing.T) {
	if answer := Admit(&Case{Request: Request{Closed: "its window"}}, start); answer.Reason != Window || !answer.Until.IsZero() {
		t.Errorf("%+v", answer)
	}
}

func TestAFanOutStartsSlowly(t *testing.T) {
	for _, test := range []struct {
		name     string
		tally    Tally
		standing Standing
		admits   bool
	}{
		{"the first", Tally{}, Well, true},
		{"a second beside the first", Tally{InFlight: 1}, Well, false},
		{"one after one was delivered", Tally{Proven: 1}, Well, true},
		{"a second after one was delivered", Tally{Proven: 1, InFlight: 1}, Well, false},
		{"a second after two were delivered", Tally{Proven: 2, InFlight: 1}, Well, true},
		{"a third after two were delivered", Tally{Proven: 2, InFlight: 2}, Well, false},
		{"a fourth after four were delivered", Tally{Proven: 4, InFlight: 3}, Well, true},
		{"more in flight than proven, after a new leader", Tally{Proven: 1, InFlight: 5}, Well, false},
		{"a well one while a failed one is due", Tally{Proven: 4, Due: [Unwell + 1]int{Failed: 1}}, Well, false},
		{"a failed one while another is due", Tally{Due: [Unwell + 1]int{Failed: 1}}, Failed, true},
		{"a failed one beside another", Tally{Due: [Unwell + 1]int{Failed: 1}, InFlight: 1}, Failed, false},
		{"a failed one while well ones are due", Tally{Due: [Unwell + 1]int{Well: 9}}, Failed, true},
		{"an exposed one while a failed one is due", Tally{Due: [Unwell + 1]int{Failed: 1}}, Exposed, false},
		{"a well one while an exposed one is due", Tally{Due: [Unwell + 1]int{Exposed: 1}}, Well, false},
		{"a well one while others are due", Tally{Due: [Unwell + 1]int{Well: 9}}, Well, true},
		{"an unwell one while a failed one is due", Tally{Due: [Unwell + 1]int{Failed: 1}}, Unwell, false},
		{"an unwell one while a well one is due", Tally{Due: [Unwell + 1]int{Well: 1}}, Unwell, false},
		{"an unwell one while one is in flight", Tally{Proven: 9, InFlight: 1, OwnInFlight: 1}, Unwell, false},
		{"an unwell one while one is in flight in another namespace", Tally{Proven: 9, InFlight: 1}, Unwell, true},
		{"an unwell one while the first is in flight in another namespace", Tally{InFlight: 1}, Unwell, false},
		{"an unwell one in the end, though nothing is proven", Tally{}, Unwell, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Case{Request: Request{Standing: test.standing}, FanOuts: []Tally{test.tally}}
			if answer := Admit(&c, start); answer.MayBegin() != test.admits {
				t.Errorf("may begin: %v", answer.MayBegin())
			}
		})
	}
}

func TestAWorkloadThatLacksPodsYieldsUntilTheContentIsProvenOrItsTimeIsOver(t *testing.T) {
	for _, test := range []struct {
		proven int
		yields time.Duration
		admits bool
	}{{0, 1, false}, {0, 0, true}, {1, 1, true}} {
		c := Case{Request: Request{Standing: Lacking, YieldsUntil: start.Add(test.yields)}, FanOuts: []Tally{{Proven: test.proven}}}
		if answer := Admit(&c, start); answer.MayBegin() != test.admits {
			t.Errorf("%+v: %+v", test, answer)
		}
	}
}

// One after the other is delivered as soon as it may begin: one, one, two, four and so on.
func TestTheRoundsOfAFanOutDouble(t *testing.T) {
	var rounds []int
	tally := Tally{}
	for range 6 {
		for c := (Case{Request: Request{Standing: Well}}); ; tally.InFlight++ {
			if c.FanOuts = []Tally{tally}; !Admit(&c, start).MayBegin() {
				break
			}
		}
		rounds = append(rounds, tally.InFlight)
		tally.Proven, tally.InFlight = tally.Proven+tally.InFlight, 0
	}
	if diff := cmp.Diff([]int{1, 1, 2, 4, 8, 16}, rounds); diff != "" {
		t.Error(diff)
	}
}

func TestANamespaceHoldsNoMorePlacesThanAreFree(t *testing.T) {
	for _, test := range []struct {
		name               string
		places, taken, own int
		admits             bool
	}{
		{"the first", 50, 0, 0, true},
		{"half of the places", 50, 24, 24, true},
		{"more than half of the places", 50, 26, 26, false},
		{"another namespace beside that", 50, 26, 0, true},
		{"another namespace takes the last place", 50, 49, 1, true},
		{"another namespace does not take the last place as its third", 50, 49, 2, false},
		{"no place is free", 50, 50, 0, false},
		{"a new leader found more than there are places", 50, 60, 0, false},
		{"the only place", 1, 0, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Case{TakesPlace: true, Places: test.places, Taken: test.taken, Own: test.own}
			if answer := Admit(&c, start); answer.MayBegin() != test.admits {
				t.Errorf("may begin: %v", answer.MayBegin())
			}
			if c.TakesPlace = false; !Admit(&c, start).MayBegin() {
				t.Error("a restart that takes no place waits for one")
			}
		})
	}
}
