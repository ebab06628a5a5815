package window_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"kubernetes-deployment-restart-controller/controller/window"
)

func TestWindowsOfAllForms(t *testing.T) {
	for _, text := range []string{
		"CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h",
		"TZ=UTC 0 22 * * 1-5 6h",
		"  0\t22 * * 1-5\n6h\n",
		"*/5,7 0-4/2 ? jan,FEB mon-FRI 1m",
		"0 0 * * 0 168h",
		"0 0 * * 0 10080m0s",
		"@hourly 90s", "@midnight 1.5h", "TZ=Asia/Tokyo @weekly 24h", "@monthly 1h", "@annually 1h",
	} {
		if _, err := window.Parse(text); err != nil {
			t.Error(err)
		}
	}
}

func TestTheErrorOfAWindowSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "it is empty",
		" \n":                                "it is empty",
		strings.Repeat("0", 257):             "257 bytes are too long, up to 256 are allowed",
		"0 22 * * 1-5":                       "expected six words (five fields and a duration), found 5",
		"0 0 22 * * 1-5 6h":                  "expected six words (five fields and a duration), found 7",
		"0 22 * * 1-5 6":                     `"6" is not a duration from 1m to 168h, such as 90m or 6h`,
		"0 22 * * 1-5 2d":                    `"2d" is not a duration from 1m`,
		"0 22 * * 1-5 -6h":                   `"-6h" is not a duration from 1m`,
		"0 22 * * 1-5 59s":                   `"59s" is not a duration from 1m`,
		"0 22 * * 1-5 168h1ns":               `"168h1ns" is not a duration from 1m`,
		"0 22 * * 1-5 9999999h":              `"9999999h" is not a duration from 1m`,
		"0 25 * * * 6h":                      `"25" is no hour: 0 to 23, *, or a list, range or step of these;`,
		"0 0 * * 7 6h":                       `"7" is no weekday: 0 to 6 or SUN to SAT`,
		"0 0 0 * * 6h":                       `"0" is no day of the month: 1 to 31`,
		"*/0 * * * * 6h":                     `"*/0" is no minute: 0 to 59`,
		"0 0 * FOO * 6h":                     `"FOO" is no month: 1 to 12 or JAN to DEC`,
		"x * * * * 6h":                       `"x" is no minute: 0 to 59`,
		"0 0 * * , 6h":                       "one of its fields has no values",
		", * * * * 6h":                       "one of its fields has no values",
		"\x1b[31m 0 * * * 6h":                "its schedule has characters other than printable ASCII",
		"0 0 * * \xff 6h":                    "its schedule has characters other than printable ASCII",
		"@every 2h 1h":                       "expected six words (five fields and a duration), found 3",
		"@every 2h":                          `"@every" is no macro such as @daily`,
		"@sometimes 2h":                      `"@sometimes" is no macro such as @daily`,
		"0 0 30 2 * 168h":                    "it never opens",
		"TZ=UTC 0 0 31 2,4,6,9,11 * 1h":      "it never opens",
		"daily 2h":                           "duration), found 2;",
		"TZ=Europe/Berlin":                   "duration), found 0;",
		"TZ=Europe/Berlin 6h":                "duration), found 1;",
		"TZ= 0 0 * * * 6h":                   `unknown time zone ""`,
		"TZ=Local 0 0 * * * 6h":              `unknown time zone "Local"`,
		"CRON_TZ=Europe/Atlantis @daily 6h":  `unknown time zone "Europe/Atlantis"`,
		"TZ=../../etc/passwd @daily 6h":      `unknown time zone "../../etc/passwd"`,
		"TZ=/etc/localtime @daily 6h":        `unknown time zone "/etc/localtime"`,
		"TZ=UTC TZ=UTC 0 0 * * * 6h":         "duration), found 7;",
		"TZ=UTC TZ=UTC 6h":                   "duration), found 2;",
		"CRON_TZ=UTC CRON_TZ=UTC 0 0 * * 6h": `"CRON_TZ=UTC" is no minute`,
	} {
		_, err := window.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), `; an example is "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzAnyTextIsAWindowOrHasABoundedError(f *testing.F) {
	for _, text := range []string{"CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h", "TZ=", "TZ=0", "@every 1h", "@daily 1h", "0 0 30 2 * 1h", ", , , , , 1h", "*-9/9 +1 ? * * 1h"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := window.Parse(text)
		if err != nil {
			if message := err.Error(); len(message) > 1000 || strings.ContainsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", message)
			}
			return
		}
		isOpen, opens := w.At(now)
		switch {
		case isOpen && !opens.IsZero(), !isOpen && !opens.IsZero() && !opens.After(now):
			t.Errorf("%q: %t, %v", text, isOpen, opens)
		case !opens.IsZero():
			if isOpenThen, _ := w.At(opens); !isOpenThen {
				t.Errorf("%q is not open at %v", text, opens)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"0 22 * * 1-5 6h", "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h", ", * * * * 6h", "0 0 30 2 * 1m", "59 23 31 2,4,6,9,11 * 1m"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = window.Parse(text)
			}
		})
	}
}

// The slowest is a leap day, because the library searches day by day.
func BenchmarkAt(b *testing.B) {
	now := time.Date(2026, 11, 20, 12, 34, 56, 789, time.UTC)
	for _, text := range []string{
		"0 22 * * 1-5 6h",
		"CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h",
		"CRON_TZ=Europe/Berlin 59 23 29 2 * 1m",
	} {
		b.Run(text, func(b *testing.B) {
			w := parsed(b, text)
			b.ReportAllocs()
			for b.Loop() {
				w.At(now)
			}
		})
	}
}
