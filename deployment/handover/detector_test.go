package handover

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each line of a story is an event at a second, and what to do then. The takeover delay is 30
// seconds.
func TestAnEngineDrivesOnlyWhileNobodyElseIsDetected(t *testing.T) {
	for name, test := range map[string]struct {
		isStandby bool
		story     string
	}{
		"alone from the start": {false, `
			0      nothing  create a probe
			0      request  wait until 10
			0.1    show     wait until 3.1
			3      nothing  wait until 3.1
			3.1    nothing  take over
			3.1    drive    wait
			900    nothing  wait`},
		"a rival answers the first probe": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			0.2    answer   wait until 10.2
			10     nothing  wait until 10.2
			10.2   nothing  create a probe
			10.2   request  wait until 20.2
			10.3   show     wait until 30.2
			10.4   answer   wait until 20.4`},
		"a rival goes": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			0.2    answer   wait until 10.2
			10.2   request  wait until 20.2
			10.3   show     wait until 30.2
			20     nothing  wait until 30.2
			30.2   nothing  take over`},
		"a rival comes while it drives": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			500    answer   wait until 510
			510    nothing  create a probe
			510    request  wait until 520
			510.1  show     wait until 530
			530    nothing  take over
			530    drive    wait`},
		"somebody writes a status while it makes sure": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			1      write    wait until 3.1
			3.1    nothing  take over
			3.1    verify   take over
			3.1    drive    wait until 10
			10     nothing  create a probe
			10     request  wait until 20
			10.1   show     wait until 13.1
			13.1   nothing  resume
			13.1   verify   wait`},
		"somebody writes a status while it stands by": {true, `
			0      request  wait until 10
			0.1    write    wait until 10
			0.2    show     wait until 30
			29     nothing  wait until 30
			30     nothing  take over
			30     verify   take over
			30     drive    wait`},
		"somebody writes a status while it drives": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   show     wait until 63.1
			63.1   nothing  resume
			63.1   verify   wait`},
		"somebody writes a status on and on": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   show     wait until 63.1
			61     write    wait until 70
			65     write    wait until 70
			70     nothing  create a probe
			70     request  wait until 80
			70.1   show     wait until 73.1
			73.1   nothing  resume
			73.1   verify   wait`},
		"somebody writes in one namespace, and once in another": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   show     wait until 63.1
			61     write    wait until 70
			62     another  wait until 70
			70     request  wait until 80
			70.1   show     wait until 73.1
			71     write    wait until 73.1
			73.1   nothing  resume
			73.1   verify   wait until 80`},
		"one who writes a status answers the probe, too": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   show     wait until 63.1
			60.2   answer   wait until 70.2
			70.2   request  wait until 80.2
			70.3   show     wait until 90.2
			90.2   nothing  take over`},
		"it cannot create a probe after a foreign write": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   fail     wait until 62.1
			62.1   nothing  create a probe`},
		"a watch is broken while it verifies a namespace": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			60     write    create a probe
			60     request  wait until 70
			60.1   show     wait until 63.1
			63.1   broken   wait until 66.1`},
		"a standby waits": {true, `
			0      nothing  create a probe
			0      request  wait until 10
			0.1    show     wait until 30
			29     nothing  wait until 30
			30     nothing  take over`},
		"a standby that cannot create a probe in time": {true, `
			0      request  wait until 10
			10     nothing  create a probe
			10     request  wait until 20
			29     nothing  create a probe
			29     request  wait until 39
			29.5   show     wait until 32.5
			32.5   nothing  take over`},
		"it cannot create a probe at first": {false, `
			0      request  wait until 10
			0.1    fail     wait until 2.1
			2.1    nothing  create a probe
			2.1    request  wait until 12.1
			2.2    show     wait until 5.2`},
		"it never drives without a probe": {false, `
			0      request  wait until 10
			10     request  wait until 20
			20     request  wait until 30
			3600   nothing  create a probe`},
		"its probe is deleted while it drives": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			50     delete   wait until 52
			52     nothing  create a probe
			52     request  wait until 62
			52.1   show     wait
			53     delete   wait until 62
			62     nothing  create a probe`},
		"another process replaces the probe while it drives": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    drive    wait
			5      delete   wait until 10
			5.1    displace create a probe
			5.1    request  wait until 15.1
			5.2    fail     wait until 7.2
			7.2    request  wait until 17.2
			7.3    show     wait`},
		"another process replaces the probe while it makes sure": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			1      delete   wait until 10
			1.1    displace wait until 4.1
			4.1    nothing  take over
			4.1    drive    create a probe`},
		"its probe is deleted while it makes sure": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			2      delete   wait until 10
			10     request  wait until 20
			10.1   show     wait until 13.1`},
		"a watch is broken": {false, `
			0      request  wait until 10
			0.1    show     wait until 3.1
			3.1    broken   wait until 6.1`},
		"a watch is broken while it stands by": {true, `
			0      request  wait until 10
			0.1    show     wait until 30
			30     broken   wait until 60`},
		"a watch was broken until 10 seconds ago": {true, `
			0      request  wait until 10
			0.1    show     wait until 30
			30     was-broken wait until 50
			40     answer   wait until 50
			41     was-broken wait until 50`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDetector(test.isStandby, noon, takeoverDelay)
			var got, want []string
			for line := range strings.Lines(test.story) {
				if fields := strings.Fields(line); len(fields) > 0 {
					want = append(want, strings.Join(fields, " "))
					got = append(got, d.play(fields[0], fields[1]))
				}
			}
			expect(t, "story", want, got)
		})
	}
}

// play passes an event to a detector, and returns the event with what to do next.
func (d *detector) play(second, event string) string {
	at := noon.Add(must(time.ParseDuration(second + "s")))
	switch event {
	case "request":
		d.probeRequested(at)
	case "fail":
		d.probeFailed(at)
	case "show":
		d.probeShown(at)
	case "answer":
		d.answered = true
		d.rivalDetected(at, takeoverDelay)
	case "write":
		d.foreignWrite("ns")
	case "another":
		d.foreignWrite("another")
	case "verify":
		d.verify()
	case "displace":
		d.probeDisplaced(at)
	case "delete":
		d.probeDeleted(at)
	case "broken":
		d.watchesBrokenUntil(at)
	case "was-broken":
		d.watchesBrokenUntil(at.Add(-10 * time.Second))
	case "drive":
		d.drive()
	case "nothing":
	default:
		panic("unknown event " + event)
	}
	next, due := d.next(at)
	words := []string{"wait", "create a probe", "take over", "resume"}[next]
	if !due.IsZero() {
		words += fmt.Sprint(" until ", due.Sub(noon).Seconds())
	}
	return second + " " + event + " " + words
}

func TestItMakesADifferenceOnceThatARivalIsDetected(t *testing.T) {
	d := newDetector(false, noon, takeoverDelay)
	if !d.rivalDetected(noon, takeoverDelay) {
		t.Error("not while it makes sure")
	}
	if d.rivalDetected(noon, takeoverDelay) {
		t.Error("while it stands by")
	}
	d.drive()
	if !d.rivalDetected(noon, takeoverDelay) {
		t.Error("not while it drives")
	}
	if newDetector(true, noon, takeoverDelay).rivalDetected(noon, takeoverDelay) {
		t.Error("to a standby")
	}
}

func TestANamespaceRestsUntilAProbeThatWasCreatedLaterIsNotAnswered(t *testing.T) {
	d := newDetector(false, noon, takeoverDelay)
	d.probeShown(noon)
	d.drive()
	for _, namespace := range []string{"b", "a"} {
		if !d.foreignWrite(namespace) || d.foreignWrite(namespace) {
			t.Errorf("it does not make a difference once that %s is to be verified", namespace)
		}
	}
	expect(t, "verified before a probe covers them", []string{}, d.verify())
	d.probeShown(noonPlus(1))
	d.foreignWrite("c")
	expect(t, "verified", []string{"a", "b"}, d.verify())
	expect(t, "left", map[string]bool{"c": false}, d.unverified)
}

// A rival writes in all namespaces for as long as it is there, and namespaces come and go.
func TestAnEngineThatStandsByForgetsNamespaces(t *testing.T) {
	d := newDetector(true, noon, takeoverDelay)
	for second := range 10 {
		d.probeShown(noonPlus(float64(second)))
		for number := range 100 {
			d.foreignWrite(fmt.Sprint("ci-", second, "-", number))
		}
		d.rivalDetected(noonPlus(float64(second)), takeoverDelay)
		if len(d.unverified) != 0 {
			t.Fatalf("%d namespaces are remembered", len(d.unverified))
		}
	}
	d.foreignWrite("before")
	d.probeShown(noonPlus(11))
	d.foreignWrite("after")
	d.drive()
	expect(t, "verified", []string{"before"}, d.verify())
}
