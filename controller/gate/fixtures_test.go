package gate

import (
	"slices"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/rows"
)

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// book is a ledger with the workloads that it has woken, and checks its tallies after each step.
type book struct {
	*Ledger
	t     *testing.T
	now   time.Time
	woken []string
}

func newBook(t *testing.T, policy Policy) *book {
	b := &book{t: t, now: start}
	b.Ledger = newLedger(policy, func(ref names.WorkloadRef) { b.woken = append(b.woken, ref.Name) })
	return b
}

// newLedger returns a ledger with a table of its own.
func newLedger(policy Policy, wake func(names.WorkloadRef)) *Ledger {
	table := rows.New(func(m **Member) bool { return *m == nil })
	return New(policy, rows.ColumnOf(table, func(m **Member) **Member { return m }), wake)
}

// size returns how many workloads the ledger knows.
func (l *Ledger) size() (members int) {
	for range l.members.All() {
		members++
	}
	return members
}

func gradual(limit int) Policy { return Policy{Gradual: true, Limit: limit} }

func workload(namespace, name string) names.WorkloadRef {
	return names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: name}
}

func config(name string) names.ConfigRef {
	return names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: name}
}

// due returns the request of a well workload in namespace a for keys of the config c, which changed at
// moment 1.
func due(name string, keys ...string) *Request {
	return &Request{Workload: workload("a", name), Standing: Well, Causes: []Cause{causeOf("c", 1, keys...)}}
}

// running are workloads that run with a content, and see no key that is known.
func running(refs ...names.WorkloadRef) (all []catalog.Runner) {
	for _, ref := range refs {
		all = append(all, catalog.Runner{Workload: ref})
	}
	return all
}

func causeOf(name string, moment names.Sequence, keys ...string) Cause {
	return Cause{Config: config(name), Keys: keys, Moments: []names.Sequence{moment}, IsGradual: true}
}

// expect asks, and checks the reason.
func (b *book) expect(reason Reason, requests ...*Request) {
	b.t.Helper()
	for _, r := range requests {
		explained := b.Explain(r, b.now)
		b.check()
		if answer := b.Ask(r, b.now); answer.Reason != reason || explained != answer {
			b.t.Fatalf("%s: got %q, and %q as an explanation, want %q", r.Workload.Name, answer.Reason, explained.Reason, reason)
		}
		b.check()
	}
}

// restart asks, and begins the restart, which must be admitted.
func (b *book) restart(requests ...*Request) {
	b.t.Helper()
	for _, r := range requests {
		b.expect("", r)
		b.Begin(r, b.now)
		b.check()
	}
}

// deliver ends restarts that succeeded.
func (b *book) deliver(requests ...*Request) {
	b.t.Helper()
	for _, r := range requests {
		b.Rolled(r.Workload)
		b.Deliver(r.Workload)
		b.check()
	}
}

// requireBothDelivered lets two restarts begin and be delivered, and requires that this ends their fan-out.
func (b *book) requireBothDelivered(first, second *Request) {
	b.t.Helper()
	for _, r := range []*Request{first, second} {
		b.restart(r)
		b.deliver(r)
	}
	if all := b.TakeFinished(); len(all) != 1 || all[0].Delivered != 2 || all[0].Unserved != 0 {
		b.t.Errorf("finished: %+v", all)
	}
}

// fail ends a restart that failed, and returns the halt.
func (b *book) fail(r *Request, content, id string) *Halt {
	b.t.Helper()
	cause := &r.Causes[0]
	h := b.Fail(&Failure{Workload: r.Workload, Config: cause.Config, Keys: cause.Keys, Content: content, Began: b.now}, id, b.now)
	b.End(r.Workload, time.Time{}, start)
	b.check()
	return h
}

// unserved returns how many workloads the fan-out of [due] has not reached so far.
func (b *book) unserved() (unserved int) {
	for p := range b.ProgressOf(config("c")) {
		unserved = p.Unserved
	}
	return unserved
}

// wakes checks which workloads were woken since the last check, in any order.
func (b *book) wakes(want ...string) {
	b.t.Helper()
	slices.Sort(b.woken)
	slices.Sort(want)
	if !slices.Equal(b.woken, want) {
		b.t.Fatalf("woke %q, want %q", b.woken, want)
	}
	b.woken = nil
}

// takeWoken returns which workloads were woken since the last check.
func (b *book) takeWoken() (woken []string) {
	woken, b.woken = b.woken, nil
	return woken
}

// check compares the tallies with the members.
func (b *book) check() {
	b.t.Helper()
	if problem := b.problem(); problem != "" {
		b.t.Fatal(problem)
	}
}

// readsAll is a workload that reads all keys of its configs.
func readsAll(*Halt) bool { return true }

// ContentChanged ends the halts of a config whose keys have another content now. The function returns the
// present content of keys.
func (l *Ledger) ContentChanged(config names.ConfigRef, content func(keys []string) string) (ended []*Halt) {
	contents := l.Contents(config)
	ended, _ = l.NoteContent(config, func(halted string) Presence {
		if content(contents[halted].Keys) != halted {
			return Gone
		}
		return Present
	})
	return ended
}
