package row

import (
	"fmt"
	"testing"
	"time"
)

// running returns the pods of a workload that run contents since long ago.
func running(count int, reads ...Content) *Pods {
	pods := &Pods{Wanted: count, Template: Template{1}}
	for range count {
		pods.All = append(pods.All, Pod{Template: Template{1}, State: Ready, Reads: reads})
	}
	return pods
}

// begin begins a restart of a workload with one pod, which must be allowed.
func begin(t *testing.T, table *Table, ref Workload, now time.Time, changes ...Change) {
	t.Helper()
	for _, c := range changes {
		table.Edit(c.Content, now)
	}
	if reason := table.Ask(ref, changes, running(1), now); reason != "" {
		t.Fatalf("%s waits: %s", ref.Name, reason)
	}
	table.Accepted(ref, now)
}

func gradual(c Content) Change { return Change{Content: c, IsGradual: true} }

func TestUrgentAndUngradualContentsTakeNoSlot(t *testing.T) {
	for _, change := range []Change{{Content: contents[keyA][good], IsGradual: true, IsUrgent: true}, {Content: contents[keyA][good]}} {
		table := New(testPolicy)
		begin(t, table, refs[0], at(0), change)
		begin(t, table, refs[1], at(0), change)
		if reason := table.Ask(refs[2], []Change{change}, running(1), at(0)); reason != "" {
			t.Errorf("another restart waits for %+v: %s", change, reason)
		}
	}
}

func TestAFailureHaltsGradualContentsOnly(t *testing.T) {
	table := New(testPolicy)
	changes := []Change{{Content: contents[keyA][bad]}, {Content: contents[keyB][bad], IsGradual: true, IsUrgent: true}}
	begin(t, table, refs[0], at(0), changes...)
	crashing := running(1, contents[keyA][bad], contents[keyB][bad])
	crashing.All[0].State = Crashing
	table.See(refs[0], crashing, at(1))
	table.See(refs[0], crashing, at(1+judging))
	for _, c := range []struct {
		change Change
		want   Reason
	}{{changes[0], ""}, {gradual(contents[keyB][bad]), Halted}, {changes[1], Halted}} {
		if got := table.Ask(refs[1], []Change{c.change}, running(1), at(2)); got != c.want {
			t.Errorf("a restart with %+v waits for %q, not %q", c.change, got, c.want)
		}
		table.Refused(refs[1])
	}
}

func TestContentsThatAreCurrentAreNotForgottenHoweverManyThereAre(t *testing.T) {
	table := New(testPolicy)
	var many []Change
	for i := range 2 * maxContents {
		c := contents[keyA][good]
		c.Config.Name = fmt.Sprint(i)
		many = append(many, gradual(c))
	}
	begin(t, table, refs[0], at(0), many...)
	for _, change := range many {
		if reason := table.Ask(refs[1], []Change{change}, running(1), at(1)); reason != SlowStart {
			t.Errorf("a restart with %s waits for %q", change.Config.Name, reason)
		}
	}
}

func TestAWorkloadThatIsGoneStaysExposedUntilItsDeadline(t *testing.T) {
	table := New(testPolicy)
	change := gradual(contents[keyA][good])
	begin(t, table, refs[0], at(0), change)
	table.Forget(refs[0])
	table.Tick(at(deadline - 1))
	if reason := table.Ask(refs[1], []Change{change}, running(1), at(deadline-1)); reason != SlowStart {
		t.Errorf("before the deadline, another restart waits for %q", reason)
	}
	table.Tick(at(deadline))
	if reason := table.Ask(refs[1], []Change{change}, running(1), at(deadline)); reason != "" {
		t.Errorf("after the deadline, another restart waits for %q", reason)
	}
	if len(table.rows) != 1 {
		t.Errorf("there are %d rows", len(table.rows))
	}
}

func TestAWriteThatIsRefusedLeavesWhatWasThereBefore(t *testing.T) {
	table := New(testPolicy)
	first, second := gradual(contents[keyA][good]), gradual(contents[keyB][good])
	begin(t, table, refs[0], at(0), first)
	table.Edit(second.Content, at(0))
	table.Ask(refs[0], []Change{second}, running(1), at(0))
	crashing := running(1, first.Content)
	crashing.All[0].State = Crashing
	table.See(refs[0], crashing, at(1))
	table.Refused(refs[0])
	if reason := table.Ask(refs[1], []Change{second}, running(1), at(1)); reason != "" {
		t.Errorf("what was refused takes a slot: %s", reason)
	}
	if reason := table.Ask(refs[2], []Change{first}, running(1), at(1)); reason != SlowStart {
		t.Errorf("what was there before takes none: %q", reason)
	}
	table.See(refs[0], crashing, at(1+judging))
	if reason := table.Ask(refs[2], []Change{first}, running(1), at(1+judging)); reason != Halted {
		t.Errorf("the crash while the write was on its way is forgotten: %q", reason)
	}
}

// as returns the pods as they are in a state since a time.
func (p *Pods) as(state PodState, since time.Time) *Pods {
	for i := range p.All {
		p.All[i].State, p.All[i].Since = state, since
	}
	return p
}

func TestAMomentWithoutPodsIsNoReasonToRestartUnseen(t *testing.T) {
	table := New(testPolicy)
	change := gradual(contents[keyA][good])
	table.Edit(change.Content, at(10))
	away := running(1).as(Unready, at(9))
	if reason := table.Ask(refs[0], []Change{change}, away, at(10)); reason != "" {
		t.Fatalf("the first restart waits: %s", reason)
	}
	if reason := table.Ask(refs[1], []Change{change}, away, at(10)); reason != SlowStart {
		t.Errorf("the second restart waits for %q", reason)
	}
	gone := running(1).as(Unready, at(10-deadline))
	if reason := table.Ask(refs[2], []Change{change}, gone, at(10)); reason != "" {
		t.Errorf("a workload without pods waits: %s", reason)
	}
}

func TestPodsOfTheFormerRolloutAreNoProgress(t *testing.T) {
	table := New(testPolicy)
	change := gradual(contents[keyA][good])
	table.Edit(change.Content, at(0))
	pods := running(2)
	table.Ask(refs[0], []Change{change}, pods, at(0))
	table.See(refs[0], pods, at(0)) // the watch is behind
	table.Accepted(refs[0], at(0))
	for i := range pods.All {
		now := at((i + 1) * (deadline - 1)) // within the deadline of the pod before
		pods.Rollout = 1
		pods.All[i] = Pod{Rollout: 1, Template: Template{1}, State: Ready, Reads: []Content{change.Content}, Since: now}
		table.See(refs[0], pods, now)
	}
	table.See(refs[0], pods, at(2*(deadline-1)+soak))
	if got := table.rows[refs[0]].state; got != Settled {
		t.Errorf("the restart is %d in the end", got)
	}
}

func TestAHaltEndsWithTheLastFailure(t *testing.T) {
	table := New(testPolicy)
	c := contents[keyA][bad]
	for i, ref := range refs[:2] {
		begin(t, table, ref, at(i), Change{Content: c, IsGradual: true, IsUrgent: true})
		table.See(ref, running(1, c).as(Crashing, at(i)), at(i))
	}
	for i, ref := range refs[:2] {
		table.See(ref, running(1, c).as(Crashing, at(i)), at(2))
	}
	for i, want := range []int{1, 0} {
		table.See(refs[i], running(1, c), at(5))
		if got := len(table.halts); got != want {
			t.Errorf("there are %d halts when %d workloads run after all", got, i+1)
		}
	}
}

func TestALateWriteBringsWhatTheConfigHoldsByThen(t *testing.T) {
	table := New(testPolicy)
	former, present := gradual(contents[keyA][good]), gradual(contents[keyA][bad])
	table.Edit(former.Content, at(0))
	table.Ask(refs[0], []Change{former}, running(1), at(0))
	table.Lost(refs[0])
	table.Edit(present.Content, at(1))
	if reason := table.Ask(refs[1], []Change{present}, running(1), at(1)); reason == "" {
		t.Error("another restart begins before it is known whether the late one brings the same")
	}
	table.Resolved(refs[0], true, at(1))
	if reason := table.Ask(refs[1], []Change{present}, running(1), at(1+deadline)); reason != SlowStart {
		t.Errorf("another restart waits for %q although the late one brings the same", reason)
	}
}

func TestAFailureHaltsEverythingIfNobodyKnowsWhatThePodsHaveRead(t *testing.T) {
	table := New(testPolicy)
	change := gradual(contents[keyA][bad])
	begin(t, table, refs[0], at(0), change)
	unknown := running(1).as(Crashing, at(1))
	table.See(refs[0], unknown, at(1))
	table.See(refs[0], unknown, at(1+judging))
	if reason := table.Ask(refs[1], []Change{change}, running(1), at(2)); reason != Halted {
		t.Errorf("another restart waits for %q", reason)
	}
}
