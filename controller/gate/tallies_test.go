package gate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// The ledger counts while it goes. Whatever it is asked and told, in whatever order, its tallies are those
// of its members, nobody waits for something that is over, and nothing is left when all are gone.
func TestTalliesAreThoseOfTheMembersWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := Policy{
			Gradual: rapid.Bool().Draw(t, "gradual"), Limit: rapid.IntRange(1, 6).Draw(t, "limit"), Failures: rapid.IntRange(0, 2).Draw(t, "failures"),
		}
		h := &handler{ledger: newLedger(policy, func(names.WorkloadRef) {}), now: start}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if problem := h.ledger.problem(); problem != "" {
					t.Fatal(problem)
				}
			},
			"ask": h.ask, "begin": h.begin, "release": h.release, "settle": h.settle, "expect": h.expect, "forget": h.forget,
			"roll": h.roll, "end": h.end, "deliver": h.deliver, "resolve": h.resolve, "tick": h.tick, "count": h.count, "fail": h.fail, "resume": h.resume, "restore": h.restore,
			"recover": h.recover, "free place": h.freePlace, "change content": h.changeContent, "go first": h.goFirst,
		})
		h.close(t)
	})
}

// handler tells a ledger anything, also what its callers never do.
type handler struct {
	ledger *Ledger
	now    time.Time
	halts  int
}

func drawWorkload(t *rapid.T) names.WorkloadRef {
	return workload(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}).Draw(t, "name"))
}

func drawConfig(t *rapid.T, namespace string) names.ConfigRef {
	return names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: rapid.SampledFrom([]string{"c", "d"}).Draw(t, "config")}
}

func drawContent(t *rapid.T) string {
	return fmt.Sprint(rapid.IntRange(0, maxHalts+1).Draw(t, "content"))
}

func drawRequest(t *rapid.T) *Request {
	r := &Request{
		Workload: drawWorkload(t), CannotRoll: rapid.IntRange(0, 9).Draw(t, "cannot roll") == 0,
		Standing: Standing(rapid.IntRange(0, int(Unwell)).Draw(t, "standing")), Wave: int16(rapid.IntRange(-1, 1).Draw(t, "wave")),
	}
	switch rapid.IntRange(0, 11).Draw(t, "held") {
	case 0:
		r.Hold = "a freeze"
	case 1:
		r.Closed = "its window"
	case 2:
		r.Wait = time.Minute
	}
	for range rapid.IntRange(0, 2).Draw(t, "causes") {
		cause := Cause{
			Config: drawConfig(t, r.Workload.Namespace), Keys: rapid.SampledFrom([][]string{nil, {"x"}, {"y"}, {"x", "y"}}).Draw(t, "keys"),
			IsGradual: rapid.IntRange(0, 4).Draw(t, "all at once") > 0, IsUrgent: rapid.IntRange(0, 9).Draw(t, "urgent") == 0,
		}
		if cause.IsGradual && rapid.IntRange(0, 2).Draw(t, "group") == 0 {
			cause.Group, cause.Content = GroupOf(cause.Config.Kind, cause.Config.Name), drawContent(t)
		}
		for range rapid.IntRange(1, 2).Draw(t, "moments") {
			cause.Moments = append(cause.Moments, names.Sequence(rapid.IntRange(0, 2).Draw(t, "moment")))
		}
		r.Causes = append(r.Causes, cause)
	}
	return r
}

func (h *handler) ask(t *rapid.T) {
	r := drawRequest(t)
	explained := h.ledger.Explain(r, h.now)
	if problem := h.ledger.problem(); problem != "" {
		t.Fatalf("after an explanation: %s", problem)
	}
	if answer := h.ledger.Ask(r, h.now); answer != explained {
		t.Fatalf("got %+v, and %+v as an explanation", answer, explained)
	}
}

func (h *handler) begin(t *rapid.T) {
	r := drawRequest(t)
	if rapid.Bool().Draw(t, "continues") {
		r.Continues = h.ledger.ExposedTo(r.Workload)
	}
	h.ledger.Begin(r, h.now)
}
func (h *handler) settle(t *rapid.T)  { h.ledger.Settle(drawWorkload(t)) }
func (h *handler) forget(t *rapid.T)  { h.ledger.Forget(drawWorkload(t)) }
func (h *handler) roll(t *rapid.T)    { h.ledger.Rolled(drawWorkload(t)) }
func (h *handler) deliver(t *rapid.T) { h.ledger.Deliver(drawWorkload(t)) }
func (h *handler) end(t *rapid.T) {
	h.ledger.End(drawWorkload(t), h.now.Add(rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "until")), h.now)
}
func (h *handler) resolve(t *rapid.T) { h.ledger.Resolve(drawWorkload(t)) }

func (h *handler) freePlace(t *rapid.T) { h.ledger.FreePlace(drawWorkload(t)) }

func (h *handler) release(t *rapid.T) {
	h.ledger.Release(drawWorkload(t), rapid.Bool().Draw(t, "pending"), rapid.Bool().Draw(t, "uncertain"), h.now)
}

func (h *handler) expect(t *rapid.T) {
	h.ledger.Expect(drawWorkload(t), int16(rapid.IntRange(-1, 1).Draw(t, "wave")))
}

func (h *handler) tick(t *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
	h.ledger.Tick(h.now)
}

func (h *handler) count(t *rapid.T) {
	namespace := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
	all := running(drawWorkload(t), workload(namespace, "other"))
	h.ledger.CountRunning(FanOut{drawConfig(t, namespace), names.Sequence(rapid.IntRange(0, 2).Draw(t, "moment"))}, all)
}

func (h *handler) fail(t *rapid.T) {
	ref := drawWorkload(t)
	h.halts++
	h.ledger.Fail(&Failure{
		Workload: ref, Config: drawConfig(t, ref.Namespace), Keys: rapid.SampledFrom([][]string{nil, {"x"}}).Draw(t, "keys"),
		Content: drawContent(t), Began: h.now.Add(-time.Duration(rapid.IntRange(0, 60).Draw(t, "age")) * time.Second),
	}, fmt.Sprint(h.halts), h.now)
}

func (h *handler) resume(t *rapid.T) {
	if h.halts > 0 {
		namespace := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
		h.ledger.Resume(drawConfig(t, namespace), fmt.Sprint(rapid.IntRange(1, h.halts).Draw(t, "id")), h.now)
	}
}

func (h *handler) restore(t *rapid.T) {
	halt := Halt{ID: "restored", Config: drawConfig(t, "a"), Content: drawContent(t), Since: h.now}
	if rapid.Bool().Draw(t, "resumed") {
		halt.Resumed = h.now
	}
	h.ledger.Restore(halt, h.now)
}

func (h *handler) recover(t *rapid.T) {
	ref := drawWorkload(t)
	h.ledger.Recovered(ref, drawConfig(t, ref.Namespace), readsAll)
}

func (h *handler) changeContent(t *rapid.T) {
	config := drawConfig(t, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"))
	kept := drawContent(t)
	h.ledger.ContentChanged(config, func([]string) string { return kept })
}

func (h *handler) goFirst(t *rapid.T) {
	ref := drawWorkload(t)
	h.ledger.GoFirst(drawConfig(t, ref.Namespace), []names.WorkloadRef{ref}, h.now.Add(30*time.Second))
}

// close ends everything.
func (h *handler) close(t *rapid.T) {
	for ref := range h.ledger.members.All() {
		h.ledger.Forget(ref)
	}
	h.ledger.Tick(h.now.Add(time.Hour))
	for _, config := range h.ledger.Halted() {
		h.ledger.NoteContent(config, func(string) Presence { return Lost })
	}
	if problem := h.ledger.problem(); problem != "" {
		t.Fatal("in the end: ", problem)
	}
	if h.ledger.size()+len(h.ledger.Halted()) > 0 {
		t.Fatal("something is left")
	}
}
