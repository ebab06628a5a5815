package window

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	maxText   = 256 // bytes
	minLength = time.Minute
	maxLength = 7 * 24 * time.Hour
	example   = "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"
)

// leapYear begins five years that have every date. A schedule without a time in them never has one.
var leapYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Parse returns the window that a text describes: an optional time zone with the prefix CRON_TZ= or
// TZ= (otherwise UTC), a schedule, and a length of 1m to 168h in Go's syntax. The schedule consists of
// the five fields of a CronJob's, or is a macro such as @daily. A window that never opens, such as one on
// 30 February, is an error. The text can come from anyone. An error has one line of at most a few hundred
// bytes, and shows an example.
func Parse(text string) (Window, error) {
	w, err := parse(text)
	if err != nil {
		return Window{}, fmt.Errorf("window %.40q: %w; an example is %q", text, err, example)
	}
	return w, nil
}

func parse(text string) (Window, error) {
	if len(text) > maxText {
		return Window{}, fmt.Errorf("%d bytes are too long, up to %d are allowed", len(text), maxText)
	}
	zone, fields, err := cutZone(strings.Fields(text))
	if err != nil {
		return Window{}, err
	}
	last := len(fields) - 1
	if isMacro := last == 1 && strings.HasPrefix(fields[0], "@"); last != 5 && !isMacro {
		return Window{}, fmt.Errorf("expected six words (five fields and a duration), found %d", last+1)
	}
	length, err := time.ParseDuration(fields[last])
	if err != nil || length < minLength || length > maxLength {
		return Window{}, fmt.Errorf("%.40q is not a duration from 1m to 168h, such as 90m or 6h", fields[last])
	}
	schedule, err := parseSchedule(fields[:last])
	if err != nil {
		return Window{}, err
	}
	if schedule.Next(leapYear).IsZero() {
		return Window{}, errors.New("it never opens")
	}
	return Window{schedule: schedule, zone: zone, length: length}, nil
}

// cutZone returns the time zone that the first field names, or UTC, and the other fields.
func cutZone(fields []string) (*time.Location, []string, error) {
	if len(fields) == 0 {
		return nil, nil, errors.New("it is empty")
	}
	name, isZone := strings.CutPrefix(fields[0], "CRON_TZ=")
	if !isZone {
		name, isZone = strings.CutPrefix(fields[0], "TZ=")
	}
	if !isZone {
		return time.UTC, fields, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" { // the last two would not be errors, but UTC and the zone of this process
		return nil, nil, fmt.Errorf("unknown time zone %.40q", name)
	}
	return zone, fields[1:], nil
}

// parts are the fields of a schedule.
var parts = [...]struct{ name, example string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12 or JAN to DEC"}, {"weekday", "0 to 6 or SUN to SAT"},
}

// problemOf says what is wrong with the fields of a schedule that the library does not accept.
func problemOf(fields []string) error {
	if len(fields) == 1 {
		return fmt.Errorf("%.40q is no macro such as @daily", fields[0])
	}
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = fields[i]
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			return fmt.Errorf("%.40q is no %s: %s, *, or a list, range or step of these", fields[i], part.name, part.example)
		}
	}
	return errors.New("its schedule cannot be read")
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseSchedule returns a schedule of readings. There must be five fields, or one that is a macro,
// because the library panics if a time zone is all that it gets.
func parseSchedule(fields []string) (*cron.SpecSchedule, error) {
	text := strings.Join(fields, " ")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, errors.New("its schedule has characters other than printable ASCII") // which the library's errors would repeat
	}
	parsed, err := parser.Parse(text)
	if err != nil { // whose text is for programmers
		return nil, problemOf(fields)
	}
	schedule, isSpec := parsed.(*cron.SpecSchedule)
	if !isSpec {
		return nil, errors.New("its schedule is not one of clock times")
	}
	// The library accepts "," as a field without values, and then searches five years minute by minute.
	for _, values := range []uint64{schedule.Minute, schedule.Hour, schedule.Dom, schedule.Month, schedule.Dow} {
		if values == 0 {
			return nil, errors.New("one of its fields has no values")
		}
	}
	schedule.Location = time.UTC
	return schedule, nil
}
