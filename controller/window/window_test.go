package window_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine's time zones

	"kubernetes-deployment-restart-controller/controller/window"
)

// failer is a test, or a check of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func parsed(t failer, text string) window.Window {
	t.Helper()
	w, err := window.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

const (
	open    = "open"
	unknown = "unknown"
)

// at is what a window should say at a time: open, or when it opens next, if that is known.
type at struct{ now, want string }

func check(t *testing.T, text string, cases ...at) {
	t.Helper()
	w := parsed(t, text)
	for _, test := range cases {
		isOpen, opens := w.At(instant(t, test.now))
		got := opens.Format(time.RFC3339)
		switch {
		case isOpen && opens.IsZero():
			got = open
		case opens.IsZero():
			got = unknown
		case isOpen:
			got = "open, and opens " + got
		}
		if got != test.want {
			t.Errorf("%q at %s: %s, want %s", text, test.now, got, test.want)
		}
	}
}

func TestAWindowIsOpenFromItsScheduledTimeForItsLength(t *testing.T) {
	check(t, "0 22 * * 1-5 6h", // 2026-11-20 is a Friday
		at{"2026-11-20T21:59:59.999999999Z", "2026-11-20T22:00:00Z"},
		at{"2026-11-20T22:00:00Z", open},
		at{"2026-11-21T03:59:59.999999999Z", open},
		at{"2026-11-21T04:00:00Z", "2026-11-23T22:00:00Z"},
		at{"2026-11-22T22:30:00Z", "2026-11-23T22:00:00Z"},
		at{"2026-11-23T23:30:00+01:00", open},
	)
	check(t, "30 1 * * * 1m", at{"2026-11-20T01:30:59.9Z", open}, at{"2026-11-20T01:31:00Z", "2026-11-21T01:30:00Z"})
	check(t, "0 9 * jan-MAR Mon 1h30m", at{"2026-11-20T12:00:00Z", "2027-01-04T09:00:00Z"})
	check(t, "@daily 2h", at{"2026-11-20T01:00:00Z", open}, at{"2026-11-20T02:00:00Z", "2026-11-21T00:00:00Z"})
}

func TestAWindowThatOpensBeforeItClosesStaysOpen(t *testing.T) {
	for _, text := range []string{"*/5 * * * * 5m", "*/5 * * * * 7m", "0 * * * * 61m", "0 0 * * * 168h", "TZ=Europe/Berlin 0 0 * * 0 168h"} {
		for _, now := range []string{"2026-11-20T21:59:59.9Z", "2026-11-20T22:00:00Z", "2026-11-20T22:04:59.9Z", "2026-10-25T01:30:00Z"} {
			check(t, text, at{now, open})
		}
	}
	check(t, "*/5 * * * * 2m",
		at{"2026-11-20T22:01:59Z", open},
		at{"2026-11-20T22:02:00Z", "2026-11-20T22:05:00Z"},
		at{"2026-11-20T22:57:00Z", "2026-11-20T23:00:00Z"},
		at{"2026-11-20T23:00:01Z", open})
}

func TestMonthsEndAndLeapYearsCome(t *testing.T) {
	check(t, "0 12 31 * * 1h", at{"2026-01-31T13:00:00Z", "2026-03-31T12:00:00Z"}, at{"2026-10-31T13:00:00Z", "2026-12-31T12:00:00Z"})
	check(t, "0 23 31 12 * 2h", at{"2027-01-01T00:30:00Z", open}, at{"2027-01-01T01:00:00Z", "2027-12-31T23:00:00Z"})
	check(t, "0 0 29 2 * 24h", at{"2026-11-20T00:00:00Z", "2028-02-29T00:00:00Z"}, at{"2028-02-29T23:59:00Z", open}, at{"2028-03-01T00:00:00Z", "2032-02-29T00:00:00Z"})
	check(t, "0 0 29 2 * 24h", at{"2097-01-01T00:00:00Z", unknown})               // 2100 is no leap year
	check(t, "0 0 13 * 5 1h", at{"2026-11-20T02:00:00Z", "2026-11-27T00:00:00Z"}) // the 13th, and Fridays, as for a CronJob
}

func TestTheScheduleFollowsTheClockOfItsZone(t *testing.T) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		check(t, prefix+"Europe/Berlin 0 22 * * 1-5 6h",
			at{"2026-11-20T12:00:00Z", "2026-11-20T22:00:00+01:00"},
			at{"2026-07-17T12:00:00Z", "2026-07-17T22:00:00+02:00"},
			at{"2026-07-17T20:00:00Z", open},
			at{"2026-07-17T19:59:59Z", "2026-07-17T22:00:00+02:00"})
	}
	check(t, "TZ=Asia/Kathmandu 0 0 * * * 1h", at{"2026-11-20T12:00:00Z", "2026-11-21T00:00:00+05:45"})
	check(t, "TZ=Etc/GMT+5 0 0 * * * 1h", at{"2026-11-20T12:00:00Z", "2026-11-21T00:00:00-05:00"})
}

func TestAnOpeningThatTheClockSkipsIsRightAfterTheChange(t *testing.T) {
	check(t, "TZ=Europe/Berlin 30 2 * * * 1h", // 02:00 is followed by 03:00
		at{"2026-03-29T00:59:59.9Z", "2026-03-29T03:00:00+02:00"},
		at{"2026-03-29T01:00:00Z", open},
		at{"2026-03-29T01:59:59Z", open},
		at{"2026-03-29T02:00:00Z", "2026-03-30T02:30:00+02:00"})
	check(t, "TZ=America/New_York */20 2 * * * 5m", // 02:00, 02:20 and 02:40 are all at 03:00
		at{"2026-03-08T06:59:00Z", "2026-03-08T03:00:00-04:00"},
		at{"2026-03-08T07:04:59Z", open},
		at{"2026-03-08T07:05:00Z", "2026-03-09T02:00:00-04:00"})
	check(t, "TZ=Australia/Lord_Howe 15 2 * * * 10m", // 02:00 is followed by 02:30
		at{"2026-10-03T15:00:00Z", "2026-10-04T02:30:00+11:00"},
		at{"2026-10-03T15:30:00Z", open},
		at{"2026-10-03T15:40:00Z", "2026-10-05T02:15:00+11:00"})
	check(t, "TZ=America/Havana 0 0 8 3 * 1h", // 00:00 is followed by 01:00
		at{"2026-03-07T12:00:00Z", "2026-03-08T01:00:00-04:00"},
		at{"2026-03-08T05:00:00Z", open},
		at{"2026-03-08T06:00:00Z", "2027-03-08T00:00:00-05:00"})
	check(t, "TZ=Asia/Beirut 0 0 * * 0 1h",
		at{"2026-03-28T21:59:59Z", "2026-03-29T01:00:00+03:00"},
		at{"2026-03-28T22:59:59Z", open},
		at{"2026-03-28T23:00:00Z", "2026-04-05T00:00:00+03:00"})
	check(t, "TZ=Pacific/Apia 0 12 30 12 * 1h", // Samoa skipped this day
		at{"2011-12-30T09:59:59Z", "2011-12-31T00:00:00+14:00"},
		at{"2011-12-30T10:59:59Z", open})
}

func TestAnOpeningThatTheClockRepeatsIsTheFirst(t *testing.T) {
	check(t, "TZ=Europe/Berlin 30 2 * * * 10m", // after 02:59 comes 02:00 again
		at{"2026-10-25T00:00:00Z", "2026-10-25T02:30:00+02:00"},
		at{"2026-10-25T00:30:00Z", open},
		at{"2026-10-25T00:40:00Z", "2026-10-26T02:30:00+01:00"},
		at{"2026-10-25T01:10:00Z", "2026-10-26T02:30:00+01:00"},
		at{"2026-10-25T01:30:00Z", "2026-10-26T02:30:00+01:00"})
	check(t, "TZ=America/New_York 0 * * * * 10m",
		at{"2026-11-01T05:00:00Z", open},
		at{"2026-11-01T05:10:00Z", "2026-11-01T02:00:00-05:00"},
		at{"2026-11-01T06:00:00Z", "2026-11-01T02:00:00-05:00"},
		at{"2026-11-01T07:00:00Z", open})
	check(t, "TZ=Australia/Lord_Howe 45 1 * * * 10m", // after 01:59 comes 01:30 again
		at{"2026-04-04T14:45:00Z", open},
		at{"2026-04-04T15:15:00Z", "2026-04-06T01:45:00+10:30"})
	check(t, "TZ=America/Havana 30 0 * * * 10m", // after 00:59 comes 00:00 again
		at{"2026-11-01T04:30:00Z", open},
		at{"2026-11-01T05:30:00Z", "2026-11-02T00:30:00-05:00"})
}

func TestAWindowKeepsItsLengthWhenTheClockChanges(t *testing.T) {
	check(t, "TZ=Europe/Berlin 0 22 * * * 6h",
		at{"2026-03-29T02:59:59Z", open}, // 04:59 there
		at{"2026-03-29T03:00:00Z", "2026-03-29T22:00:00+02:00"},
		at{"2026-10-25T01:59:59Z", open}, // 02:59 there, for the second time
		at{"2026-10-25T02:00:00Z", "2026-10-25T22:00:00+01:00"})
	check(t, "TZ=America/New_York 0 22 * * * 6h",
		at{"2026-03-08T08:59:59Z", open}, at{"2026-03-08T09:00:00Z", "2026-03-08T22:00:00-04:00"},
		at{"2026-11-01T07:59:59Z", open}, at{"2026-11-01T08:00:00Z", "2026-11-01T22:00:00-05:00"})
}

func TestTheZeroWindowIsAlwaysOpen(t *testing.T) {
	if isOpen, opens := (window.Window{}).At(time.Time{}); !isOpen || !opens.IsZero() {
		t.Errorf("%t %v", isOpen, opens)
	}
}

func TestAWindowThatCannotBeReadIsClosed(t *testing.T) {
	now := instant(t, "2026-11-20T12:00:00Z")
	for text, want := range map[string]string{
		"every night":     "closed, opens 0001-01-01T00:00:00Z",
		"0 0 30 2 * 6h":   "closed, opens 0001-01-01T00:00:00Z",
		"0 22 * * 1-5 6h": "closed, opens 2026-11-20T22:00:00Z",
		"0 11 * * 1-5 6h": "open",
	} {
		w, err := window.Parse(text)
		isClosed, opens := window.IsClosed(w, err, now)
		got := "open"
		if isClosed {
			got = "closed, opens " + opens.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
