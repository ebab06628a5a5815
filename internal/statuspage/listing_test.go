package statuspage_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/internal/status"
)

func TestTheAddressOfAListSaysWhatIsSearchedFor(t *testing.T) {
	for address, want := range map[string]status.Selection{
		"/workloads": {What: status.ListWorkloads, Page: 1},
		"/namespace/shop/workloads/2?q=+Web+&state=held&state=left%20alone": {What: status.ListWorkloads, Namespace: "shop", Page: 2, Query: "web", States: []status.State{status.Held, status.LeftAlone}},
		"/workloads?state=left+alone&state=held&state=held":                 {What: status.ListWorkloads, Page: 1, States: []status.State{status.Held, status.LeftAlone}},
		"/workloads?state=all&state=held&q=%20":                             {What: status.ListWorkloads, Page: 1},
		"/workloads?state=":                                                 {What: status.ListWorkloads, Page: 1},
		"/workloads?q=%zz":                                                  {What: status.ListWorkloads, Page: 1},
		"/workloads?q=a&q=b":                                                {What: status.ListWorkloads, Page: 1, Query: "a"},
		"/configs?q=x&state=held":                                           {What: status.ListConfigs, Page: 1, Query: "x"},
		"/namespaces/status.json?q=sh":                                      {What: status.ListNamespaces, Page: 1, Query: "sh"},
		"/configs?q=" + strings.Repeat("x", 512):                            {What: status.ListConfigs, Page: 1, Query: strings.Repeat("x", 512)},
		"/configs?q=" + strings.Repeat("x", 600) + strings.Repeat("y", 99):  {What: status.ListConfigs, Page: 1, Query: strings.Repeat("x", 506) + " [cut]"},
	} {
		var asked []status.Selection
		source := leading().source()
		source.List = func(s status.Selection) *status.Listing {
			asked = append(asked, s)
			return &status.Listing{Selection: s, Pages: 2}
		}
		answer := get(newHandler(source), address)
		if diff := cmp.Diff([]status.Selection{want}, asked); diff != "" || answer.Code != http.StatusOK || answer.Body.Len() > 16<<10 {
			t.Errorf("%.99s: %d, %d bytes, %s", address, answer.Code, answer.Body.Len(), diff)
		}
	}
}

func TestAStateThatThereIsNotIsNotFoundAndNotRepeated(t *testing.T) {
	answer := get(leading().handler(), "/workloads?state=held&state=typo")
	if body := answer.Body.String(); answer.Code != http.StatusNotFound || !strings.Contains(body, "The states are settled, soaking, rolling, ") || strings.Contains(body, "typo") {
		t.Errorf("%d %s", answer.Code, body)
	}
}

func TestWhatIsSearchedForIsKeptByTheLinksOfAList(t *testing.T) {
	const query = "?q=a%26%22%3E&amp;state=held&amp;state=left%20alone"
	page := get(leading().handler(), "/namespace/shop/workloads?q=A%26%22%3E&state=held&state=left%20alone").Body.String()
	for _, part := range []string{
		`<body data-events="/namespace/shop/workloads/events">`, `href="/namespace/shop/workloads/status.json` + query + `"`, `<a href="/namespace/shop/workloads/2` + query + `">2</a>`,
		`<form class="search" role="search" action="/namespace/shop/workloads">`, `name="q" value="a&amp;&#34;&gt;"`,
		`<input type="hidden" name="state" value="held"><input type="hidden" name="state" value="left alone">`,
		`<a href="/namespace/shop/workloads?q=a%26%22%3E">any state</a>`,
		`<a class="state held" href="/namespace/shop/workloads?q=a%26%22%3E&amp;state=held" aria-current="true">held</a>`,
		`<a class="state failed" href="/namespace/shop/workloads?q=a%26%22%3E&amp;state=failed">failed</a>`,
		"201 found, sorted by name; page 1 of 2", `<noscript><meta http-equiv="refresh" content="60"></noscript>`,
	} {
		if !strings.Contains(page, part) {
			t.Errorf("it lacks %s:\n%s", part, page)
		}
	}
	if page := get(leading().handler(), "/configs").Body.String(); strings.Contains(page, "any state") || !strings.Contains(page, "201 in all") {
		t.Errorf("configs have no states: %s", page)
	}
}

func TestAListThatMayLackSomeHasNoTotal(t *testing.T) {
	page := get((&cluster{overview: status.Overview{Leads: true, Knowledge: status.Knowledge{Gaps: []status.Gap{{Text: "broken"}}}}}).handler(), "/configs").Body.String()
	if strings.Contains(page, "201") || !strings.Contains(page, "What is known, sorted by name; page 1 of 2") {
		t.Errorf("the page is %s", page)
	}
}

func TestAPageThatAListHasNoMoreLinksToTheFirstOne(t *testing.T) {
	page := get(leading().handler(), "/namespace/shop/workloads/3?q=a%26%22%3E&state=left%20alone")
	const link = `There is no such page of the list. See its <a href="/namespace/shop/workloads?q=a%26%22%3E&amp;state=left%20alone">first page</a>.`
	if body := page.Body.String(); page.Code != http.StatusNotFound || !strings.Contains(body, link) {
		t.Errorf("%d %s", page.Code, body)
	}
}

func TestInvisibleCharactersThatAreSearchedForAreShown(t *testing.T) {
	page := get(leading().handler(), "/configs?q=a%E2%80%AEb%00%0a").Body.String()
	if !strings.Contains(page, `value="a\u202eb`) || strings.ContainsAny(page, "\u202e\x00") {
		t.Errorf("the page is %s", page)
	}
}

func TestAListOfManyPagesLinksToFewOfThem(t *testing.T) {
	source := leading().source()
	source.List = func(s status.Selection) *status.Listing {
		return &status.Listing{Selection: s, Total: 200_000, Pages: 1000}
	}
	for address, want := range map[string]string{
		"/configs":      `Page <b aria-current="page">1</b> 2 3 4 … 1000`,
		"/configs/5":    `Page 1 2 3 4 <b aria-current="page">5</b> 6 7 8 … 1000`,
		"/configs/500":  `Page 1 … 497 498 499 <b aria-current="page">500</b> 501 502 503 … 1000`,
		"/configs/1000": `Page 1 … 997 998 999 <b aria-current="page">1000</b>`,
	} {
		page := get(newHandler(source), address).Body.String()
		_, page, _ = strings.Cut(page, `aria-label="Pages">`)
		page, _, _ = strings.Cut(page, "</nav>")
		texts := strings.FieldsFunc(strings.ReplaceAll(page, "</a>", ""), func(r rune) bool { return r == '\n' })
		if got := withoutLinks(strings.Join(texts, "")); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// withoutLinks returns a text without the beginnings of links.
func withoutLinks(text string) string {
	parts := strings.Split(text, "<a href=")
	for i := range parts[1:] {
		_, parts[i+1], _ = strings.Cut(parts[i+1], ">")
	}
	return strings.Join(parts, "")
}

func TestAShortListOfTheOverviewLinksToAllInTheseStates(t *testing.T) {
	many := func(of string) status.List[status.Entry] {
		return status.List[status.Entry]{Total: 60, Items: slices.Repeat([]status.Entry{{Workload: "deployment/a/" + of}}, 50)}
	}
	c := leading()
	c.overview.Waiting, c.overview.LeftAlone = many("web"), many("api")
	for path, parts := range map[string][]string{
		"/":               {`and 10 more: <a href="/workloads?state=deciding&amp;state=waiting">`, `<a href="/workloads?state=left%20alone">`},
		"/namespace/shop": {`and 10 more: <a href="/namespace/shop/workloads?state=deciding&amp;state=waiting">`},
	} {
		page := get(c.handler(), path).Body.String()
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %s:\n%s", path, part, page)
			}
		}
	}
}
