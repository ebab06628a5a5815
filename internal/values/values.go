// Package values reads values as people write them in flags and annotations. Its errors name the value and what is
// accepted; the caller adds the name of the flag or annotation.
package values

import (
	"fmt"
	"strings"
	"time"
)

// Duration reads a duration such as "90s", "2m" or "1h30m", or a number of seconds.
func Duration(text string) (time.Duration, error) { return durationIn("s", "seconds", text) }

// Milliseconds is like [Duration], but a number alone counts milliseconds.
func Milliseconds(text string) (time.Duration, error) { return durationIn("ms", "milliseconds", text) }

func durationIn(unit, units, text string) (time.Duration, error) {
	trimmed := strings.TrimSpace(text)
	if isNumber := strings.Trim(trimmed, "+-.0123456789") == ""; isNumber {
		trimmed += unit
	}
	duration, err := time.ParseDuration(trimmed)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a duration such as 90s, 2m or 1h30m, or a number of %s", text, units)
	}
	return duration, nil
}

// List reads a list of names or patterns, separated by commas, with or without spaces. Empty parts are left out, but a
// list has at least one that is not.
func List(text string) ([]string, error) {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%.40q is not a list such as a,b", text)
	}
	return parts, nil
}
