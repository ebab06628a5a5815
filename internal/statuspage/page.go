package statuspage

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/status"
)

// page is what all pages have.
type page struct {
	title string
	// below is the path, as it stands in addresses, to which those of the neighbors are appended, and query comes after these.
	below, query string
	// reload is after how many seconds the page loads itself again without JavaScript.
	reload int
	time   time.Time
	// about says which program answers.
	about string
	// isIncomplete means that the page does not show everything.
	isIncomplete bool
	content      g.Node
}

// writePage writes the page of a path, as that stands in addresses.
func (h *handler) writePage(out io.Writer, path string, v view) error {
	p := page{title: "Restart controller", below: strings.TrimSuffix(path, "/"), reload: 5, time: time.Now().UTC()}
	var known status.Knowledge
	switch data := v.data.(type) {
	case *status.Overview:
		p.content, known = overview(data), data.Knowledge
		if data.Namespace != "" {
			p.title = data.Namespace
		}
	case *status.Workload:
		p.title, p.content, known = data.Workload, workloadPage(data), data.Knowledge
	case *status.Config:
		p.title, p.content, known = data.Name, configPage(data), data.Knowledge
	case *status.Listing:
		p.title, p.content, known = listingTitle(data), listingPage(data), data.Knowledge
		p.query, p.reload = queryOf(&data.Selection), 60 // so that there is time to type
	case status.Problem:
		p.content = problem(&data)
	}
	p.isIncomplete, p.about = len(known.Gaps) > 0, h.about(known.Lease)
	return p.node().Render(out)
}

func (p *page) node() g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.NoScript(h.Meta(g.Attr("http-equiv", "refresh"), h.Content(strconv.Itoa(p.reload)))),
			h.TitleEl(g.Text(p.title)),
			h.Link(h.Rel("icon"), h.Href("/icon.svg"), h.Type("image/svg+xml")),
			h.Link(h.Rel("stylesheet"), h.Href("/style.css")),
			h.Script(h.Src("/script.js"), h.Defer()),
		),
		h.Body(h.Data("events", p.below+"/events"),
			h.Header(
				h.A(h.Class("home"), h.Href("/"), g.Text("Restart controller")),
				h.Nav(h.Aria("label", "Lists"),
					link("/namespaces", "Namespaces"), g.Text(" "), link("/workloads", "Workloads"), g.Text(" "), link("/configs", "Configs")),
				h.Span(h.ID("live"), h.Role("status")),
				h.A(h.Class("json"), h.Href(p.below+"/status.json"+p.query), g.Text("JSON")),
				h.P(h.ID("about"), g.Text(p.about)),
			),
			h.Main(h.ID("main"), g.If(p.isIncomplete, g.Attr("data-incomplete")),
				p.content,
				h.Footer(g.Text("As of "), h.Time(h.DateTime(p.time.Format(time.RFC3339)), g.Text(p.time.Format(time.DateTime))), g.Text(". Times are in UTC.")),
			),
		),
	))
}

func problem(p *status.Problem) g.Node {
	return g.Group{
		h.H1(g.Text("Not found")),
		gaps(p.Gaps),
		h.P(g.Text(p.Error), g.If(p.FirstPage != "", g.Group{g.Text(" See its "), h.A(h.Href(p.FirstPage), g.Text("first page")), g.Text(".")})),
		g.Iff(p.Mistake != nil, func() g.Node { return badCard(mistake(p.Mistake)) }),
	}
}

// about says which program answers, and since when it leads, as far as that is known.
func (h *handler) about(lease *status.Lease) string {
	var facts []string
	if h.source.Version != "" {
		facts = append(facts, "version "+h.source.Version)
	}
	if h.source.Pod != "" {
		facts = append(facts, "pod "+h.source.Pod)
	}
	switch leads := h.source.Leads(); {
	case leads && lease != nil && !lease.Since.IsZero():
		facts = append(facts, "leads since "+at(lease.Since))
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
func at(t time.Time) string { return atOn(t, time.Now().UTC()) }

// atOn is at on the day of now.
func atOn(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// ago shows how long ago something was; nothing if that is not known.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return seconds(max(0, int(time.Since(t).Seconds()))) + " ago"
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
