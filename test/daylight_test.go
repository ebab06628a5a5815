package test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Windows where the clock is set forward or back.

// leeway is how long it may take until restarts wait for a window that opens then.
const leeway = 30 * time.Second

// The clocks of three time zones show half past two at the time at which the window opens, or would show
// it: one of them skips it then, and another one shows it for the second time.
func TestAWindowOpensOnceAroundAChangeOfTheClock(t *testing.T) {
	newSceneApart(t).again((*scene).tryChangeOfTheClock)
}

func (s *scene) tryChangeOfTheClock() (held bool) {
	s.Helper()
	zones := s.TempDir()
	s.setEnvironment("ZONEINFO=" + zones)
	s.startController()
	s.make(settings, set("used", "v1"))
	steady, skipping := s.run("steady", podOf(envFrom(settings))), s.run("skipping", podOf(envFrom(settings)))
	repeating := s.run("repeating", podOf(envFrom(settings)))
	r := s.readersOf(steady, skipping, repeating)

	opens := time.Now().UTC().Truncate(time.Second).Add(leeway)
	offset := 150*time.Minute - opens.Sub(opens.Truncate(24*time.Hour))
	clocks := []struct {
		of            workload
		changes       time.Time
		before, after time.Duration
		opens         time.Time
	}{
		{steady, opens.AddDate(-1, 0, 0), offset, offset, opens},
		{skipping, opens, offset - 30*time.Minute, offset + 30*time.Minute, opens},
		{repeating, opens.Add(-30 * time.Minute), offset + time.Hour, offset, opens.Add(24 * time.Hour)},
	}
	for _, c := range clocks {
		s.must(os.WriteFile(filepath.Join(zones, c.of.name), timeZone(c.changes, c.before, c.after), 0o600))
		s.annotate(c.of, windowAnnotation, "CRON_TZ="+c.of.name+" 30 2 * * * 5m")
	}
	s.edit(settings, set("used", "v2"))
	for _, c := range clocks {
		if !s.happensBefore(opens, s.hasEvent(c.of, "RestartHeld", "restart is held: its window opens at "+c.opens.Format(time.RFC3339), new(corev1.Event))) {
			return false
		}
	}
	if !s.happensBefore(opens, s.hasMetric("held_workloads", map[string]string{"reason": "window"}, 3)) {
		return false
	}

	r.awaitRestarted(2)
	s.settle()
	r.requireRestarted(steady, skipping)
	if at := s.now(skipping).restartTime(s); at.Before(opens) {
		s.Errorf("restarted at %s, and the clock was set forward at %s", at, opens)
	}
	s.awaitMetric("held_workloads", map[string]string{"reason": "window"}, 1)
	return true
}

// setEnvironment gives the scene's controllers further variables.
func (s *scene) setEnvironment(variables ...string) {
	s.Helper()
	apart := *s.installation
	apart.Environment = append(apart.Environment[:len(apart.Environment):len(apart.Environment)], variables...)
	s.installation = &apart
}

// timeZone returns the file of a time zone, as RFC 9636 describes it, whose clock changes once.
func timeZone(changes time.Time, before, after time.Duration) []byte {
	type header struct {
		Magic                                     [4]byte
		Version                                   byte
		_                                         [15]byte
		UTC, Standard, Leaps, Times, Types, Chars uint32
	}
	type localTime struct {
		Offset       int32
		IsDaylight   bool
		Abbreviation uint8
	}
	first := header{Magic: [4]byte([]byte("TZif")), Version: '2'} // for readers that know 32 bits only
	second := first
	second.Times, second.Types, second.Chars = 1, 2, 4
	var file bytes.Buffer
	for _, part := range []any{
		first, second, changes.Unix(), uint8(1),
		localTime{Offset: int32(before.Seconds())}, localTime{Offset: int32(after.Seconds())}, []byte("ZON\x00\n\n"),
	} {
		_ = binary.Write(&file, binary.BigEndian, part) // never an error in memory
	}
	return file.Bytes()
}
