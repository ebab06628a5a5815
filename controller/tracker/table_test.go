package tracker

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/pending"
)

// filled returns a table that knows all that can be known of a workload.
func filled() *Table {
	t, now := New(), time.Now()
	b := NewBacklogs(t)
	b.PutOff(objecttest.Web, nil, gate.Answer{Reason: gate.Hold}, now)
	b.NoteFailure(objecttest.Web, errors.New("refused"), false)
	t.Update(objecttest.Web, func(row *Row) {
		row.Rolling, row.Unmended, row.Eviction = &RollingRestart{}, true, &Eviction{}
	})
	t.NoteAttempt(objecttest.Web, Attempt{})
	t.NoteProblem(objecttest.Web, IdleProblem, "it wants no pods")
	t.NoteRevert(objecttest.Web, &record.Revert{})
	t.NoteDryRun(objecttest.Web, nil)
	t.NoteRewritten(objecttest.Web, policy.Spacing{Grace: time.Second, Limit: time.Hour}, now)
	t.Members().Set(objecttest.Web, new(gate.Member))
	t.Exposures().Set(objecttest.Web, new(gate.Exposures))
	pending.NewChangeQueue(t.Changes()).Observe(objecttest.Web, objecttest.MapA, now, time.Hour)
	return t
}

func TestARowIsEmptyOnlyIfNothingIsKnown(t *testing.T) {
	row := filled().Of(objecttest.Web)
	for i := range reflect.TypeFor[Row]().NumField() {
		var only Row
		switch field := reflect.TypeFor[Row]().Field(i); field.Name {
		case "member":
			only.member = row.member
		default:
			reflect.ValueOf(&only).Elem().Field(i).Set(reflect.ValueOf(row).Field(i))
		}
		if reflect.ValueOf(&only).Elem().Field(i).IsZero() || only.isEmpty() {
			t.Errorf("%+v", only)
		}
	}
}

func TestForgettingAWorkloadLeavesWhatEndsInAnotherWay(t *testing.T) {
	table := filled()
	if table.Forget(objecttest.Web) == nil {
		t.Error("no restart was followed")
	}
	if left := table.Of(objecttest.Web); left.Backlog != nil || left.Eviction != nil || left.Attempts != nil || left.Reported != nil || left.Changes == nil || left.member == nil || left.Exposed == nil {
		t.Errorf("left is %+v", left)
	}
	if table.Forget(objecttest.Web) != nil {
		t.Error("a restart is still followed")
	}
	table.Members().Set(objecttest.Web, nil)
	table.Exposures().Set(objecttest.Web, nil)
	table.Changes().Set(objecttest.Web, nil)
	if len(table.Refs())+len(table.attemptsIn) > 0 {
		t.Errorf("left are %v, and the counts %v", table.Refs(), table.attemptsIn)
	}
}

func TestARowThatKnowsNothingMoreLeavesTheTable(t *testing.T) {
	table := filled()
	for _, step := range []func(){
		func() { table.Update(objecttest.Web, (*Row).ForgetWork) },
		func() { table.Changes().Set(objecttest.Web, nil) },
		func() { table.Members().Set(objecttest.Web, nil) },
		func() { table.Exposures().Set(objecttest.Web, nil) },
		func() { table.Update(objecttest.Web, func(row *Row) { row.Rolling, row.Eviction = nil, nil }) },
	} {
		if step(); len(table.Refs()) != 1 {
			t.Fatal("the row is gone too early")
		}
	}
	table.UpdateAll(func(row *Row) { row.Unmended = false })
	if len(table.Refs())+len(table.attemptsIn) > 0 {
		t.Errorf("left are %v, and the counts %v", table.Refs(), table.attemptsIn)
	}
}

func TestALookAtAWorkloadRemembersNothing(t *testing.T) {
	table := New()
	b := NewBacklogs(table)
	b.NoteExposed(objecttest.Web, true)
	b.NoteRetry(objecttest.Web, time.Now())
	b.Settle(objecttest.Web)
	table.NoteProblem(objecttest.Web, IdleProblem, "")
	table.NoteRevert(objecttest.Web, nil)
	if len(table.Refs()) > 0 {
		t.Errorf("known is %v", table.Refs())
	}
}

// Whoever looks at all rows calls others, which change them.
func TestTheTableMayChangeWhileSomebodyLooksAtAllRows(t *testing.T) {
	table := New()
	b := NewBacklogs(table)
	b.PutOff(objecttest.Web, nil, gate.Answer{Reason: gate.Hold}, time.Now())
	b.PutOff(objecttest.AWeb, nil, gate.Answer{Reason: gate.Hold}, time.Now())
	var seen []names.WorkloadRef
	for ref, row := range table.All() {
		seen = append(seen, ref)
		before := row.Backlog.PutOff
		b.NoteDue(ref, false, time.Now())
		if row.Backlog.PutOff != before || table.Of(ref).Backlog.PutOff != "" {
			t.Errorf("%s: the copy changes, or the row does not", ref)
		}
		table.Forget(objecttest.Web)
		table.Forget(objecttest.AWeb)
	}
	if len(seen) != 1 {
		t.Errorf("seen are %v, want the first only", seen)
	}
}
