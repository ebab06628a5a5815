package statuspage

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
