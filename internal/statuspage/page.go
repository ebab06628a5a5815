package statuspage

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/internal/status"
)

//go:embed templates
var templateFiles embed.FS

// functions are what the templates call.
var functions = template.FuncMap{
	"at":      func(t time.Time) string { return at(t, time.Now().UTC()) },
	"ago":     func(t time.Time) string { return ago(t, time.Now()) },
	"seconds": seconds, "count": count,
	"join":  func(names []string) string { return strings.Join(names, ", ") },
	"tiles": tilesOf, "isIdle": isIdle, "existence": existence, "sections": sectionsOf, "plural": plural,
	"listingTitle": listingTitle, "listingPath": listingPath, "pagePath": pagePath, "pagesOf": pagesOf,
	"states": func() []status.State { return status.States }, "inState": inState, "inStates": func(namespace string, states []status.State) string { return inState(namespace, "", states...) },
	"releaseAll": func() string { return status.ReleaseAllCommand },
	"fanOutBar":  fanOutBar, "replicasBar": replicasBar, "readersGrid": readersGrid,
	"timeline":       func(restarts []status.Restart) timeline { return timelineOf(restarts, time.Now().UTC()) },
	"timelineLegend": func() []tile { return timelineLegend },
	"fanOutLegend":   func() []tile { return fanOutLegend }, "rolloutLegend": func() []tile { return rolloutLegend },
}

var templates = template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))

// page is what the template of all pages shows.
type page struct {
	Title string
	// Below is the path to which those of the neighbors are appended, and Query comes after these.
	Below, Query string
	// Reload is after how many seconds the page loads itself again without JavaScript.
	Reload int
	Time   time.Time
	// Part names the template that shows the data.
	Part string
	Data any
	// About says which program answers.
	About string
	// IsIncomplete means that the page does not show everything.
	IsIncomplete bool
}

// writePage writes a page.
func (h *handler) writePage(out io.Writer, path string, v view) error {
	p := page{Title: "Restart controller", Below: strings.TrimSuffix(path, "/"), Reload: 5, Time: time.Now().UTC(), Part: v.template, Data: v.data}
	var known status.Knowledge
	switch data := v.data.(type) {
	case *status.Overview:
		known = data.Knowledge
		if data.Namespace != "" {
			p.Title = data.Namespace
		}
	case *status.Workload:
		p.Title, known = data.Workload, data.Knowledge
	case *status.Config:
		p.Title, known = data.Name, data.Knowledge
	case *status.Listing:
		p.Title, known = listingTitle(data), data.Knowledge
		p.Query, p.Reload = queryOf(&data.Selection), 60 // so that there is time to type
	}
	p.IsIncomplete, p.About = len(known.Gaps) > 0, h.about(known.Lease, p.Time)
	return templates.ExecuteTemplate(out, "page.html", p)
}

// about says which program answers, and since when it leads, as far as that is known.
func (h *handler) about(lease *status.Lease, now time.Time) string {
	var facts []string
	if h.source.Version != "" {
		facts = append(facts, "version "+h.source.Version)
	}
	if h.source.Pod != "" {
		facts = append(facts, "pod "+h.source.Pod)
	}
	switch leads := h.source.Leads(); {
	case leads && lease != nil && !lease.Since.IsZero():
		facts = append(facts, "leads since "+at(lease.Since, now))
	case !leads:
		facts = append(facts, "stands by")
	}
	return strings.Join(facts, ", ")
}

// withoutTime returns data without the time at which it was collected.
func withoutTime(data any) any {
	switch data := data.(type) {
	case *status.Overview:
		return data.Timeless()
	case *status.Workload:
		return data.Timeless()
	case *status.Config:
		return data.Timeless()
	case *status.Listing:
		return data.Timeless()
	}
	return data
}

// at shows a time of this day, or another one with its date; nothing if it is not known.
func at(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ago shows how long ago something was; nothing if that is not known.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return seconds(max(0, int(now.Sub(t).Seconds()))) + " ago"
}

// seconds shows a duration in at most two units.
func seconds(count int) string {
	switch {
	case count < 60:
		return fmt.Sprintf("%d s", count)
	case count < 60*60:
		return fmt.Sprintf("%d min %d s", count/60, count%60)
	case count < 24*60*60:
		return fmt.Sprintf("%d h %d min", count/3600, count%3600/60)
	}
	return fmt.Sprintf("%d d %d h", count/86400, count%86400/3600)
}

// count shows a number with its thousands apart.
func count(number int) string {
	if number < 1000 {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%s,%03d", count(number/1000), number%1000)
}

// tile is a number at the top of the overview.
type tile struct {
	Class, Name string
	Count       int
}

// tilesOf returns what needs a person first.
func tilesOf(o *status.Overview) []tile {
	return []tile{
		{"halts", plural("halt", o.Halts.Total), o.Halts.Total}, {"failed", "failed", o.Failed.Total}, {"lacking", "lacking", o.Lacking.Total}, {"retrying", "retrying", o.Retrying.Total}, {"unready", "unready", o.Unready.Total}, {"alone", "left alone", o.LeftAlone.Total}, {"held", "held", o.Held.Total},
		{"fanouts", plural("fan-out", o.FanOuts.Total), o.FanOuts.Total}, {"rolling", "rolling", o.Rolling.Total}, {"waiting", "waiting", o.Waiting.Total},
		{"slowed", "slowed", o.Slowed.Total}, {"pending", "pending", o.Pending.Total},
	}
}

func plural(noun string, count int) string {
	if count == 1 {
		return noun
	}
	return noun + "s"
}

// existence says whether something exists, nil if that is not known.
func existence(exists *bool) string {
	switch {
	case exists == nil:
		return "not known"
	case *exists:
		return "yes"
	}
	return "no"
}

// isIdle reports whether nothing is under way.
func isIdle(o *status.Overview) bool {
	return !slices.ContainsFunc(tilesOf(o), func(t tile) bool { return t.Count > 0 })
}

// section is a list of workloads.
type section struct {
	ID, Title string
	States    []status.State // of the workloads
	List      status.List[status.Entry]
}

func sectionsOf(o *status.Overview) []section {
	in := func(states ...status.State) []status.State { return states }
	return []section{
		{"failed", "Failed", in(status.Failed), o.Failed},
		{"lacking", "Lack a config or key that new pods need", in(status.Lacking), o.Lacking},
		{"retrying", "Could not be written or decided about, and are tried again", in(status.Retrying), o.Retrying},
		{"unready", "Not all of their pods run", in(status.Unready), o.Unready},
		{"alone", "Left alone, so no config change restarts them", in(status.LeftAlone), o.LeftAlone},
		{"held", "Held", in(status.Held), o.Held},
		{"rolling", "Rolling", in(status.Rolling, status.Soaking), o.Rolling},
		{"waiting", "Due, not decided yet, or waiting for other restarts", in(status.Deciding, status.Waiting), o.Waiting},
		{"slowed", "Slowed down", in(status.Slowed), o.Slowed},
		{"pending", "In their grace period", in(status.Pending), o.Pending},
	}
}
