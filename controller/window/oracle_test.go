package window_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// schedule is a generated schedule: what each of its fields lets through, in the order of the text.
type schedule struct {
	text string
	lets [5]map[int]bool
}

// allow describes the values of some texts of a field, as first, last and step.
type allow map[string][3]int

var fieldTexts = [5]allow{
	{"*": {0, 59, 1}, "*/5": {0, 59, 5}, "7/20": {7, 59, 20}, "0": {0, 0, 1}, "30": {30, 30, 1}, "29-31": {29, 31, 1}},
	{"*": {0, 23, 1}, "0": {0, 0, 1}, "1-3": {1, 3, 1}, "2": {2, 2, 1}, "23": {23, 23, 1}, "*/6": {0, 23, 6}},
	{"*": {1, 31, 1}, "1": {1, 1, 1}, "29-31": {29, 31, 1}, "25/3": {25, 31, 3}},
	{"*": {1, 12, 1}, "2-4": {2, 4, 1}, "oct-nov": {10, 11, 1}},
	{"*": {0, 6, 1}, "mon-fri": {1, 5, 1}, "0": {0, 0, 1}, "?": {0, 6, 1}},
}

func drawSchedule(t *rapid.T) schedule {
	var s schedule
	var texts []string
	for i, allowed := range fieldTexts {
		text := "*" // more often than the others
		if i < 2 || rapid.IntRange(0, 2).Draw(t, "is restricted") == 0 {
			text = rapid.SampledFrom(slices.Sorted(maps.Keys(allowed))).Draw(t, "field")
		}
		s.lets[i] = make(map[int]bool)
		for v, last, step := allowed[text][0], allowed[text][1], allowed[text][2]; v <= last; v += step {
			s.lets[i][v] = true
		}
		texts = append(texts, text)
	}
	s.text = strings.Join(texts, " ")
	return s
}

// matches reports whether a clock that shows this time is at the beginning of a scheduled minute.
func (s schedule) matches(shown time.Time) bool {
	day, weekday := s.lets[2][shown.Day()], s.lets[4][int(shown.Weekday())]
	isDay := day && weekday
	if len(s.lets[2]) < 31 && len(s.lets[4]) < 7 {
		isDay = day || weekday
	}
	return isDay && s.lets[3][int(shown.Month())] && s.lets[1][shown.Hour()] && s.lets[0][shown.Minute()]
}

// openings scans the minutes of a span of time. The schedule opens when the clock shows a scheduled
// minute, or a later one, for the first time.
func (s schedule) openings(from, until time.Time, zone *time.Location) []time.Time {
	var found []time.Time
	var latest time.Time
	for at := from.Truncate(time.Minute); at.Before(until); at = at.Add(time.Minute) {
		here := at.In(zone)
		shown := time.Date(here.Year(), here.Month(), here.Day(), here.Hour(), here.Minute(), 0, 0, time.UTC)
		isOpening := false
		for next := latest.Add(time.Minute); !latest.IsZero() && !next.After(shown); next = next.Add(time.Minute) {
			isOpening = isOpening || s.matches(next)
		}
		if isOpening {
			found = append(found, at)
		}
		if shown.After(latest) {
			latest = shown
		}
	}
	return found
}

// drawTime returns a time that is often near a change of the clock.
func drawTime(t *rapid.T, zone *time.Location) time.Time {
	some := time.Unix(rapid.Int64Range(1_577_836_800, 2_208_988_800).Draw(t, "time"), 0).In(zone) // 2020 to 2040
	if _, change := some.ZoneBounds(); !change.IsZero() && rapid.IntRange(0, 3).Draw(t, "is near a change") > 0 {
		some = change
	}
	around := rapid.SampledFrom([]time.Duration{0, time.Minute, 2 * time.Hour, 30 * time.Hour, 8 * 24 * time.Hour}).Draw(t, "around")
	return some.Add(time.Duration(rapid.Int64Range(-int64(around), int64(around)).Draw(t, "from it")))
}

func TestAWindowIsWhatAScanOfTheMinutesSays(t *testing.T) {
	const horizon = 20 * 24 * time.Hour
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kolkata"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		s := drawSchedule(t)
		length := rapid.SampledFrom([]time.Duration{time.Minute, 2 * time.Minute, 30 * time.Minute, 6 * time.Hour, 25 * time.Hour, 168 * time.Hour}).Draw(t, "length")
		now := drawTime(t, zone)

		wantOpen, wantOpens := false, time.Time{}
		for _, opening := range s.openings(now.Add(-length-26*time.Hour), now.Add(horizon), zone) {
			wantOpen = wantOpen || !opening.After(now) && now.Before(opening.Add(length))
			if opening.After(now) && wantOpens.IsZero() {
				wantOpens = opening
			}
		}
		text := "CRON_TZ=" + name + " " + s.text + " " + length.String()
		w := parsed(t, text)
		isOpen, opens := w.At(now)
		isLater := wantOpens.IsZero() && (opens.IsZero() || !opens.Before(now.Add(horizon)))
		if isOpen != wantOpen || !isOpen && !opens.Equal(wantOpens) && !isLater || isOpen && !opens.IsZero() {
			t.Fatalf("%q at %v: %t %v, want %t %v", text, now, isOpen, opens, wantOpen, wantOpens)
		}
	})
}
