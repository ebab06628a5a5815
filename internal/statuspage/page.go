package statuspage

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
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
	"seconds": seconds,
	"join":    func(names []string) string { return strings.Join(names, ", ") },
	"tiles":   tilesOf, "isIdle": isIdle, "sections": sectionsOf, "plural": plural,
	"listingTitle": listingTitle, "listingPath": listingPath, "pagesOf": pagesOf,
	"fanOutBar": fanOutBar, "replicasBar": replicasBar, "readersGrid": readersGrid,
}

var templates = template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))

// page is what the template of all pages shows.
type page struct {
	Title string
	// Below is the path to which those of the neighbors are appended.
	Below string
	Time  time.Time
	// Part names the template that shows the data.
	Part string
	Data any
	// IsIncomplete means that the page does not show everything.
	IsIncomplete bool
}

// writePage writes a page.
func writePage(out io.Writer, path string, v view) error {
	title := "Restart controller"
	var known status.Knowledge
	switch data := v.data.(type) {
	case *status.Overview:
		known = data.Knowledge
		if data.Namespace != "" {
			title = data.Namespace
		}
	case *status.Workload:
		title, known = data.Workload, data.Knowledge
	case *status.Config:
		title, known = data.Name, data.Knowledge
	case *status.Listing:
		title, known = listingTitle(data), data.Knowledge
	}
	return templates.ExecuteTemplate(out, "page.html", page{
		Title: title, Below: strings.TrimSuffix(path, "/"), Time: time.Now().UTC(), Part: v.template, Data: v.data, IsIncomplete: len(known.Gaps) > 0,
	})
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

// listingTitle says what is listed.
func listingTitle(l *status.Listing) string {
	switch l.What {
	case status.ListWorkloads:
		return "Enabled workloads in " + l.Namespace
	case status.ListConfigs:
		return "ConfigMaps and Secrets in " + l.Namespace
	}
	return "Namespaces"
}

// listingPath returns the path of a page of a list.
func listingPath(l *status.Listing, page int) string {
	path := "/namespaces"
	if l.Namespace != "" {
		path = "/namespace/" + url.PathEscape(l.Namespace) + "/" + l.What
	}
	return fmt.Sprintf("%s/%d", path, page)
}

// pagesOf returns the numbers of all pages of a list.
func pagesOf(l *status.Listing) (numbers []int) {
	for page := range l.Pages {
		numbers = append(numbers, page+1)
	}
	return numbers
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

// isIdle reports whether nothing is under way.
func isIdle(o *status.Overview) bool {
	return !slices.ContainsFunc(tilesOf(o), func(t tile) bool { return t.Count > 0 })
}

// section is a list of workloads.
type section struct {
	ID, Title string
	List      status.List[status.Entry]
}

func sectionsOf(o *status.Overview) []section {
	return []section{
		{"failed", "Failed", o.Failed}, {"lacking", "Lack a config or key that new pods need", o.Lacking}, {"retrying", "Could not be written or decided about, and are tried again", o.Retrying}, {"unready", "Not all of their pods run", o.Unready}, {"alone", "Left alone, so no config change restarts them", o.LeftAlone}, {"held", "Held", o.Held}, {"rolling", "Rolling", o.Rolling}, {"waiting", "Due, not decided yet, or waiting for other restarts", o.Waiting},
		{"slowed", "Slowed down", o.Slowed}, {"pending", "In their grace period", o.Pending},
	}
}
