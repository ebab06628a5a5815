package statuspage

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
)

// The parameters of the addresses of lists: a part of the names, and the states, each of them as often as it takes.
const (
	queryParameter = "q"
	stateParameter = "state"
)

// anyState is a state that all workloads are in, as for the plugin.
const anyState = "all"

// longestQuery is how many bytes a query has at most. No name is longer.
const longestQuery = 512

var noSuchState = func() string {
	text := "There is no such state. The states are "
	for _, state := range status.States {
		text += string(state) + ", "
	}
	return text + "and " + anyState + "."
}()

// selectionOf returns which list a request asks for, and false if it asks for a state that there is not.
func selectionOf(what string, r *http.Request) (asked status.Selection, isState bool) {
	asked = status.Selection{What: what, Namespace: r.PathValue("namespace"), Page: 1}
	if number := r.PathValue("page"); number != "" {
		asked.Page, _ = strconv.Atoi(number) // there is no page 0
	}
	parameters := r.URL.Query()
	asked.Query = strings.TrimSpace(brief.Within(longestQuery, strings.ToLower(strings.TrimSpace(parameters.Get(queryParameter)))))
	if what != status.ListWorkloads {
		return asked, true
	}
	states := parameters[stateParameter]
	for _, state := range states {
		if state != anyState && state != "" && !slices.Contains(status.States, status.State(state)) {
			return asked, false
		}
	}
	for _, state := range status.States {
		if slices.Contains(states, string(state)) && !slices.Contains(states, anyState) {
			asked.States = append(asked.States, state)
		}
	}
	return asked, true
}

// queryOf returns the end of the address of a list, empty if it has all that there is.
func queryOf(s *status.Selection) string {
	parameters := url.Values{}
	if s.Query != "" {
		parameters.Set(queryParameter, s.Query)
	}
	for _, state := range s.States {
		parameters.Add(stateParameter, string(state))
	}
	if len(parameters) == 0 {
		return ""
	}
	return "?" + strings.ReplaceAll(parameters.Encode(), "+", "%20")
}

// listingPath returns the path of the first page of a list, with all that there is.
func listingPath(s *status.Selection) string {
	if s.Namespace != "" {
		return "/namespace/" + url.PathEscape(s.Namespace) + "/" + s.What
	}
	return "/" + s.What
}

// firstPage returns the address of the first page of a list.
func firstPage(s *status.Selection) string { return listingPath(s) + queryOf(s) }

// pagePath returns the address of a page of a list.
func pagePath(l *status.Listing, page int) string {
	return listingPath(&l.Selection) + "/" + strconv.Itoa(page) + queryOf(&l.Selection)
}

// inState returns the address of the list of the workloads of a namespace, or of all if it is empty, whose names have a part and which
// are in one of the states, or in any.
func inState(namespace, query string, states ...status.State) string {
	return firstPage(&status.Selection{What: status.ListWorkloads, Namespace: namespace, Query: query, States: states})
}

// listingTitle says what is listed.
func listingTitle(l *status.Listing) string {
	title := map[string]string{status.ListNamespaces: "Namespaces", status.ListWorkloads: "Enabled workloads", status.ListConfigs: "ConfigMaps and Secrets"}[l.What]
	if l.Namespace != "" {
		title += " in " + l.Namespace
	}
	return title
}

// pagesAround is how many pages before and after the present one have a link, besides the first and the last one.
const pagesAround = 3

// pagesOf returns the numbers of the pages of a list that have a link, with 0 for some that have none.
func pagesOf(l *status.Listing) (numbers []int) {
	for page := 1; page <= l.Pages; page++ {
		switch {
		case page == 1 || page == l.Pages || max(page-l.Page, l.Page-page) <= pagesAround:
			numbers = append(numbers, page)
		case numbers[len(numbers)-1] != 0:
			numbers = append(numbers, 0)
		}
	}
	return numbers
}

func listingPage(l *status.Listing) g.Node {
	return g.Group{
		h.H1(g.Text(listingTitle(l))),
		gaps(l.Gaps),
		g.If(l.Namespace != "", h.P(link("/namespace/"+l.Namespace, "What is under way in "+l.Namespace), g.Text("; all its "), linksToLists(l.Namespace))),
		search(&l.Selection),
		g.Iff(l.What == status.ListWorkloads, func() g.Node { return stateFilter(&l.Selection) }),
		listed(l),
		g.Iff(l.Pages > 1, func() g.Node { return linksToPages(l) }),
	}
}

func search(s *status.Selection) g.Node {
	return h.Form(h.Class("search"), h.Role("search"), h.Action(listingPath(s)),
		h.Label(h.For("query"), g.Text("Part of the name")),
		h.Input(h.ID("query"), h.Type("search"), h.Name(queryParameter), h.Value(s.Query),
			h.MaxLength(strconv.Itoa(longestQuery)), h.AutoComplete("off"), g.Attr("spellcheck", "false")),
		each(s.States, func(state *status.State) g.Node {
			return h.Input(h.Type("hidden"), h.Name(stateParameter), h.Value(string(*state)))
		}),
		h.Button(g.Text("Search")),
	)
}

func stateFilter(s *status.Selection) g.Node {
	current := func(is bool) g.Node { return g.If(is, h.Aria("current", "true")) }
	return h.Ul(h.Class("legend filter"), h.Aria("label", "State"),
		h.Li(h.A(h.Href(inState(s.Namespace, s.Query)), current(len(s.States) == 0), g.Text("any state"))),
		each(status.States, func(state *status.State) g.Node {
			return h.Li(h.A(h.Class("state "+string(*state)), h.Href(inState(s.Namespace, s.Query, *state)), current(slices.Contains(s.States, *state)),
				g.Text(string(*state))))
		}))
}

func listed(l *status.Listing) g.Node {
	isSearch := l.Query != "" || len(l.States) > 0
	if len(l.Items) == 0 {
		return noneListed(l, isSearch)
	}
	total := count(l.Total) + " in all"
	switch {
	case isSearch:
		total = count(l.Total) + " found"
	case len(l.Gaps) > 0:
		total = "What is known"
	}
	return g.Group{
		note(total + ", sorted by name" + when(l.Pages > 1, "; page "+strconv.Itoa(l.Page)+" of "+strconv.Itoa(l.Pages))),
		tableOf(l),
	}
}

func tableOf(l *status.Listing) g.Node {
	heads := []string{"Config", "Read by"}
	show := func(item *status.Listed) g.Node {
		return row(heads, configLink(item.Name), g.Text(count(item.Workloads)+" "+plural("workload", item.Workloads)))
	}
	switch l.What {
	case status.ListNamespaces:
		heads = []string{"Namespace", "Enabled workloads"}
		labels := []string{"Namespace", "Workloads"}
		show = func(item *status.Listed) g.Node {
			path := "/namespace/" + item.Name
			return row(labels, link(path, item.Name), link(path+"/workloads", count(item.Workloads)))
		}
	case status.ListWorkloads:
		heads = []string{"Workload", "State"}
		show = func(item *status.Listed) g.Node { return row(heads, workloadLink(item.Name), stateOf(item.State)) }
	}
	return table("listing", heads, each(l.Items, show))
}

func noneListed(l *status.Listing, isSearch bool) g.Node {
	if !isSearch {
		return g.If(len(l.Gaps) == 0, h.P(g.Text("There are none.")))
	}
	of, is := "state", "exists"
	if l.Query != "" {
		of = "name" + when(len(l.States) > 0, " and state")
	}
	if len(l.Gaps) > 0 {
		is = "is known"
	}
	return h.P(g.Text("None of this " + of + " " + is + "."))
}

func linksToPages(l *status.Listing) g.Node {
	return h.Nav(h.Class("pages"), h.Aria("label", "Pages"), g.Text("Page"), each(pagesOf(l), func(number *int) g.Node {
		text := g.Text(strconv.Itoa(*number))
		switch *number {
		case 0:
			return g.Text(" …")
		case l.Page:
			return g.Group{g.Text(" "), h.B(h.Aria("current", "page"), text)}
		}
		return g.Group{g.Text(" "), h.A(h.Href(pagePath(l, *number)), text)}
	}))
}
