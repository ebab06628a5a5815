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
	return t
}

func TestARowIsEmptyOnlyIfNothingIsKnown(t *testing.T) {
	row := filled().Of(objecttest.Web)
	for i := range reflect.TypeFor[Row]().NumField() {
		var only Row
		of := reflect.ValueOf(&only).Elem().Field(i)
		of.Set(reflect.ValueOf(row).Field(i))
		if name := reflect.TypeFor[Row]().Field(i).Name; of.IsZero() || only.isEmpty() {
			t.Errorf("%s: %+v", name, of)
		}
	}
}

func TestForgettingAWorkloadIsOneStep(t *testing.T) {
	table := filled()
	if known := table.Forget(objecttest.Web); known.Backlog == nil || known.Rolling == nil || known.Eviction == nil || len(known.Attempts) != 1 {
		t.Errorf("known was %+v", known)
	}
	if len(table.rows)+len(table.attemptsIn) > 0 {
		t.Errorf("left are %v, and the counts %v", table.rows, table.attemptsIn)
	}
	if known := table.Forget(objecttest.Web); !known.isEmpty() {
		t.Errorf("forgotten twice: %+v", known)
	}
}

func TestARowThatKnowsNothingMoreLeavesTheTable(t *testing.T) {
	table := filled()
	for _, step := range []func(){
		func() { table.Update(objecttest.Web, (*Row).ForgetWork) },
		func() { table.Update(objecttest.Web, func(row *Row) { row.Rolling, row.Eviction = nil, nil }) },
	} {
		if step(); len(table.rows) != 1 {
			t.Fatal("the row is gone too early")
		}
	}
	table.UpdateAll(func(row *Row) { row.Unmended = false })
	if len(table.rows)+len(table.attemptsIn) > 0 {
		t.Errorf("left are %v, and the counts %v", table.rows, table.attemptsIn)
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
	if len(table.rows) > 0 {
		t.Errorf("known is %v", table.rows)
	}
}

// Whoever looks at all rows calls others, which change them.
func TestTheTableMayChangeWhileSomebodyLooksAtAllRows(t *testing.T) {
	table := filled()
	b := NewBacklogs(table)
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
