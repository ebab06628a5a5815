package deployment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/deployment/digest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// The stories tell what happens at which second and what is to be done then. The
// patience is 30 seconds.
func TestAnEngineDrivesOnlyWhileNobodyElseIsHeard(t *testing.T) {
	for name, test := range map[string]struct {
		isSpare bool
		story   string
	}{
		"alone from the start": {false, `
			0    nothing  make a probe
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3    nothing  hold on until 3.1
			3.1  nothing  take over
			3.1  drive    hold on
			900  nothing  hold on`},
		"a rival answers the first probe": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			0.2  answer   hold on until 10.2
			10   nothing  hold on until 10.2
			10.2 nothing  make a probe
			10.2 begin    hold on until 20.2
			10.3 show     hold on until 30.2
			10.4 answer   hold on until 20.4`},
		"a rival goes": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			0.2  answer   hold on until 10.2
			10.2 begin    hold on until 20.2
			10.3 show     hold on until 30.2
			20   nothing  hold on until 30.2
			30.2 nothing  take over`},
		"a rival comes while it drives": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			500  answer   hold on until 510
			510  nothing  make a probe
			510  begin    hold on until 520
			510.1 show    hold on until 530
			530  nothing  take over
			530  drive    hold on`},
		"somebody writes a status while it makes sure": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			1    suspect  hold on until 3.1
			3.1  nothing  take over
			3.1  trust    take over
			3.1  drive    hold on until 10
			10   nothing  make a probe
			10   begin    hold on until 20
			10.1 show     hold on until 13.1
			13.1 nothing  resume
			13.1 trust    hold on`},
		"somebody writes a status while it stands by": {true, `
			0    begin    hold on until 10
			0.1  suspect  hold on until 10
			0.2  show     hold on until 30
			29   nothing  hold on until 30
			30   nothing  take over
			30   trust    take over
			30   drive    hold on`},
		"somebody writes a status while it drives": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 show     hold on until 63.1
			63.1 nothing  resume
			63.1 trust    hold on`},
		"somebody writes a status on and on": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 show     hold on until 63.1
			61   suspect  hold on until 70
			65   suspect  hold on until 70
			70   nothing  make a probe
			70   begin    hold on until 80
			70.1 show     hold on until 73.1
			73.1 nothing  resume
			73.1 trust    hold on`},
		"somebody writes in one namespace, and once in another": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 show     hold on until 63.1
			61   suspect  hold on until 70
			62   another  hold on until 70
			70   begin    hold on until 80
			70.1 show     hold on until 73.1
			71   suspect  hold on until 73.1
			73.1 nothing  resume
			73.1 trust    hold on until 80`},
		"one who writes a status answers the probe, too": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 show     hold on until 63.1
			60.2 answer   hold on until 70.2
			70.2 begin    hold on until 80.2
			70.3 show     hold on until 90.2
			90.2 nothing  take over`},
		"it cannot ask about a status": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 fail     hold on until 62.1
			62.1 nothing  make a probe`},
		"it is deaf while it asks about a status": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			60   suspect  make a probe
			60   begin    hold on until 70
			60.1 show     hold on until 63.1
			63.1 miss     hold on until 66.1`},
		"a spare waits": {true, `
			0    nothing  make a probe
			0    begin    hold on until 10
			0.1  show     hold on until 30
			29   nothing  hold on until 30
			30   nothing  take over`},
		"a spare that cannot make a probe in time": {true, `
			0    begin    hold on until 10
			10   nothing  make a probe
			10   begin    hold on until 20
			29   nothing  make a probe
			29   begin    hold on until 39
			29.5 show     hold on until 32.5
			32.5 nothing  take over`},
		"it cannot make a probe at first": {false, `
			0    begin    hold on until 10
			0.1  fail     hold on until 2.1
			2.1  nothing  make a probe
			2.1  begin    hold on until 12.1
			2.2  show     hold on until 5.2`},
		"it never drives without a probe": {false, `
			0    begin    hold on until 10
			10   begin    hold on until 20
			20   begin    hold on until 30
			3600 nothing  make a probe`},
		"its probe is deleted while it drives": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			50   lose     hold on until 52
			52   nothing  make a probe
			52   begin    hold on until 62
			52.1 show     hold on
			53   lose     hold on until 62
			62   nothing  make a probe`},
		"another process asks while it drives": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  drive    hold on
			5    lose     hold on until 10
			5.1  displace make a probe
			5.1  begin    hold on until 15.1
			5.2  fail     hold on until 7.2
			7.2  begin    hold on until 17.2
			7.3  show     hold on`},
		"another process asks while it makes sure": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			1    lose     hold on until 10
			1.1  displace hold on until 4.1
			4.1  nothing  take over
			4.1  drive    make a probe`},
		"its probe is deleted while it makes sure": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			2    lose     hold on until 10
			10   begin    hold on until 20
			10.1 show     hold on until 13.1`},
		"it is deaf": {false, `
			0    begin    hold on until 10
			0.1  show     hold on until 3.1
			3.1  miss     hold on until 6.1`},
		"it is deaf while it stands by": {true, `
			0    begin    hold on until 10
			0.1  show     hold on until 30
			30   miss     hold on until 60`},
		"it was deaf until 10 seconds ago": {true, `
			0    begin    hold on until 10
			0.1  show     hold on until 30
			30   missed   hold on until 50
			40   answer   hold on until 50
			41   missed   hold on until 50`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRivalry(test.isSpare, noon, silenceLimit)
			var got, want []string
			for line := range strings.Lines(test.story) {
				if fields := strings.Fields(line); len(fields) > 0 {
					want = append(want, strings.Join(fields, " "))
					got = append(got, r.play(fields[0], fields[1]))
				}
			}
			expect(t, "story", want, got)
		})
	}
}

// play passes an event to a rivalry, and returns the event with what to do next.
func (r *rivalry) play(second, event string) string {
	at := noon.Add(must(time.ParseDuration(second + "s")))
	switch event {
	case "begin":
		r.begin(at)
	case "fail":
		r.fail(at)
	case "show":
		r.show(at)
	case "answer":
		r.answered = true
		r.hear(at, silenceLimit)
	case "suspect":
		r.suspect("ns")
	case "another":
		r.suspect("another")
	case "trust":
		r.trust()
	case "displace":
		r.displace(at)
	case "lose":
		r.lose(at)
	case "miss":
		r.miss(at)
	case "missed":
		r.miss(at.Add(-10 * time.Second))
	case "drive":
		r.drive()
	case "nothing":
	default:
		panic("unknown event " + event)
	}
	next, due := r.next(at)
	words := []string{"hold on", "make a probe", "take over", "resume"}[next]
	if !due.IsZero() {
		words += fmt.Sprint(" until ", due.Sub(noon).Seconds())
	}
	return second + " " + event + " " + words
}

func TestItMakesADifferenceOnceThatARivalIsHeard(t *testing.T) {
	r := newRivalry(false, noon, silenceLimit)
	if !r.hear(noon, silenceLimit) {
		t.Error("not while it makes sure")
	}
	if r.hear(noon, silenceLimit) {
		t.Error("while it stands by")
	}
	r.drive()
	if !r.hear(noon, silenceLimit) {
		t.Error("not while it drives")
	}
	if newRivalry(true, noon, silenceLimit).hear(noon, silenceLimit) {
		t.Error("to a spare")
	}
}

func TestANamespaceRestsUntilAProbeThatWasMadeLaterIsTrusted(t *testing.T) {
	r := newRivalry(false, noon, silenceLimit)
	r.show(noon)
	r.drive()
	for _, namespace := range []string{"b", "a"} {
		if !r.suspect(namespace) || r.suspect(namespace) {
			t.Errorf("it does not make a difference once that %s is suspect", namespace)
		}
	}
	expect(t, "trusted before they are asked about", []string{}, r.trust())
	r.show(noonPlus(1))
	r.suspect("c")
	expect(t, "trusted", []string{"a", "b"}, r.trust())
	expect(t, "left", map[string]bool{"c": false}, r.suspects)
}

// A rival writes in all namespaces for as long as it is there, and namespaces come and go.
func TestAnEngineThatStandsByForgetsNamespaces(t *testing.T) {
	r := newRivalry(true, noon, silenceLimit)
	for second := range 10 {
		r.show(noonPlus(float64(second)))
		for number := range 100 {
			r.suspect(fmt.Sprint("ci-", second, "-", number))
		}
		r.hear(noonPlus(float64(second)), silenceLimit)
		if len(r.suspects) != 0 {
			t.Fatalf("%d namespaces are remembered", len(r.suspects))
		}
	}
	r.suspect("before")
	r.show(noonPlus(11))
	r.suspect("after")
	r.drive()
	expect(t, "trusted", []string{"before"}, r.trust())
}

// statusBy is an entry of the managed fields for a write of the status.
func statusBy(manager string, second float64) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &metav1.Time{Time: noonPlus(second)}}
}

func TestAWriteOfTheStatusByOthersIsNewsOnce(t *testing.T) {
	version := func(entries ...metav1.ManagedFieldsEntry) *rollout.Deployment {
		return web(3, "v1", func(d *appsv1.Deployment) { d.ManagedFields = entries })
	}
	remade := version(statusBy("other", 9))
	remade.UID = "uid-of-another"
	for name, test := range map[string]struct {
		versions []*rollout.Deployment
		want     bool // whether the last of them is news
	}{
		"at first sight":              {[]*rollout.Deployment{version(statusBy("other", 3))}, false},
		"the first write":             {[]*rollout.Deployment{version(), version(statusBy("other", 3))}, true},
		"a further write":             {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 4))}, true},
		"a write by yet another":      {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 3), statusBy("third", 4))}, true},
		"told again":                  {[]*rollout.Deployment{version(), version(statusBy("other", 3)), version(statusBy("other", 3))}, false},
		"a write of its own":          {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy("other", 3), statusBy(rollout.FieldManager, 4))}, false},
		"its own takes it over":       {[]*rollout.Deployment{version(statusBy("other", 3)), version(statusBy(rollout.FieldManager, 4))}, false},
		"only an older one is left":   {[]*rollout.Deployment{version(statusBy("old", 1), statusBy("other", 3)), version(statusBy("old", 1))}, false},
		"another of the same name":    {[]*rollout.Deployment{version(), remade}, false},
		"after both, one that is new": {[]*rollout.Deployment{version(statusBy("other", 3)), version(), version(statusBy("other", 5))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := statusWrites{}, false
			for _, d := range test.versions {
				got = w.isNews(d)
			}
			if got != test.want {
				t.Errorf("news: %t", got)
			}
		})
	}
	t.Run("what is gone is forgotten", func(t *testing.T) {
		w, other := statusWrites{}, version()
		other.Name = "other"
		w.isNews(version())
		w.isNews(other)
		w.retain(map[digest.Digest]struct{}{keyDigest(&other.Meta): {}})
		if _, found := w[keyDigest(&other.Meta)]; !found || len(w) != 1 {
			t.Errorf("%d are left, want the one that is listed", len(w))
		}
		w.forget(other)
		if len(w) != 0 {
			t.Errorf("%d are left", len(w))
		}
	})
}
