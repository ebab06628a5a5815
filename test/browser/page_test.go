package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const hostile = `<script>alert(1)</script>"'><img src=http://elsewhere.example/x onerror=alert(2)>{{.}}`

func TestPagesFitAllScreens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]content{
		"busy": busy(), "standby": standby(), "long names": embellished(t, busy(), strings.Repeat("x", 250)), "hostile": embellished(t, busy(), hostile),
	} {
		s, b := serve(t, c), openTab(t)
		for _, path := range paths {
			b.visit(s.URL + path)
			for _, width := range []int64{360, 500, 800, 1280, 1400} {
				b.resize(width, 900)
				if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > width {
					t.Errorf("%s: %s is %d pixels wide on a screen of %d", name, path, wide, width)
				}
				if over := evaluate[[]string](b, overlaps); len(over) > 0 {
					t.Errorf("%s: %s at %d: these leave their boxes: %q", name, path, width, over)
				}
			}
		}
	}
}

// overlaps lists the cells whose content is wider than they are.
const overlaps = `[...document.querySelectorAll("td, th, dd, dt, h1, h3, p, li")].filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth).map(e => e.outerHTML.slice(0, 200))`

func TestTextIsEasyToReadInLightAndDark(t *testing.T) {
	t.Parallel()
	grounds := make(map[string]bool)
	for name, c := range map[string]content{"busy": busy(), "idle": idle(), "standby": standby(), "not found": {Overview: idle().Overview}} {
		s, b := serve(t, c), openTab(t)
		for _, scheme := range []string{"light", "dark"} {
			b.prefer(scheme)
			for _, path := range paths {
				b.visit(s.URL + path)
				for _, text := range evaluate[[]string](b, faint) {
					t.Errorf("%s: %s, %s: %s", name, path, scheme, text)
				}
				grounds[scheme+evaluate[string](b, "getComputedStyle(document.body).backgroundColor")] = true
			}
		}
	}
	if len(grounds) != 2 {
		t.Errorf("the grounds are %v", grounds)
	}
}

// faint lists the texts with less contrast than level AA of WCAG asks for: 4.5, and 3 for large text.
const faint = `(() => {
	const channels = color => (color.match(/[\d.]+/g) || []).map(Number);
	const luminance = color => {
		const [r, g, b] = channels(color).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const isClear = color => channels(color)[3] === 0;
	const groundOf = element => {
		for (; element; element = element.parentElement) {
			const ground = getComputedStyle(element).backgroundColor;
			if (!isClear(ground)) return ground;
		}
		return "rgb(255, 255, 255)";
	};
	const found = [];
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const element = texts.currentNode.parentElement, style = getComputedStyle(element);
		if (!texts.currentNode.data.trim() || style.visibility === "hidden") continue;
		const [light, dark] = [luminance(style.color), luminance(groundOf(element))].sort((a, b) => b - a);
		const contrast = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
		const isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		let opacity = 1;
		for (let e = element; e; e = e.parentElement) opacity *= getComputedStyle(e).opacity;
		if (contrast < (isLarge ? 3 : 4.5) || opacity < 1) found.push(contrast.toFixed(2) + ": " + texts.currentNode.data.trim().slice(0, 60));
	}
	return found;
})()`

func TestHostileNamesAreText(t *testing.T) {
	t.Parallel()
	s, b := serve(t, embellished(t, busy(), hostile)), openTab(t)
	for _, path := range paths {
		b.visit(s.URL + path)
		if shown := b.text("main"); strings.Count(shown, hostile) < 3 {
			t.Errorf("%s: %s", path, shown)
		}
		if evil := evaluate[int](b, `document.querySelectorAll("main script, img").length`); evil != 0 {
			t.Errorf("%s has %d elements of a tenant", path, evil)
		}
	}
	b.requireNoTrouble(s.host())
}

func TestTheTestsNoticeWhatAPageMustNotDo(t *testing.T) {
	t.Parallel()
	s, b := serve(t, idle()), openTab(t)
	b.visit(s.URL)
	b.requireNoTrouble(s.host())
	b.run(`document.body.append(Object.assign(document.createElement("img"), {src: "http://elsewhere.example/x"}))`)
	b.run(`document.body.append(Object.assign(document.createElement("script"), {textContent: "alert(1)"}))`)
	b.run(`console.error("x")`)
	b.eventually("the violations of the policy are noticed", func() error {
		_, troubles := b.noted()
		if all := strings.Join(troubles, "\n"); strings.Count(all, "Content Security Policy") < 2 || !strings.Contains(all, "console.error") {
			return fmt.Errorf("noted: %s", all)
		}
		return nil
	})
}

func TestPagesAreReadableWithoutJavaScriptAndReloadThemselves(t *testing.T) {
	t.Parallel()
	s, b := serve(t, busy()), openTab(t)
	b.forbidScripts()
	for _, path := range paths {
		b.visit(s.URL + path)
		if shown := b.text("main"); !strings.Contains(shown, "deployment/shop/checkout") || !strings.Contains(shown, "configmap/shop/web-config") {
			t.Errorf("%s: %s", path, shown)
		}
		if live := b.text("#live"); live != "" {
			t.Errorf("%s runs scripts: %s", path, live)
		}
	}
	s.show(embellished(t, busy(), "-changed"))
	b.eventually("the page reloads", func() error {
		if shown := b.text("h1"); shown != "configmap/shop/web-config-changed" {
			return fmt.Errorf("it shows %s", shown)
		}
		return nil
	})
	b.requireNoTrouble(s.host())
}

func TestAChangeIsShownWithoutALoss(t *testing.T) {
	t.Parallel()
	s, b := serve(t, busy()), openTab(t)
	b.visit(s.URL)
	b.awaitText("#live", "live")
	b.run(`window.mark = 1; scrollTo(0, 300); document.querySelector("#halts a").focus()`)
	s.show(embellished(t, busy(), "-2"))
	b.awaitText("#halts h3", "secret/billing/database-2")
	if kept := evaluate[bool](b, `window.mark === 1 && scrollY === 300`); !kept {
		t.Error("the page was loaded again")
	}

	b.run(`getSelection().selectAllChildren(document.querySelector("#halts pre"))`)
	s.show(embellished(t, busy(), "-3"))
	b.awaitText("#live", "paused while text is selected")
	if selected := evaluate[string](b, "getSelection().toString()"); !strings.HasPrefix(selected, "kubectl annotate") || !strings.HasSuffix(selected, "-2") {
		t.Errorf("selected is %q", selected)
	}
	b.run(`getSelection().removeAllRanges()`)
	b.awaitText("#halts h3", "secret/billing/database-3")
	b.awaitText("#live", "live")
	b.requireNoTrouble(s.host())

	s.end()
	b.awaitText("#live", "connection lost")
}

func TestAHiddenPageTakesNoConnectionAndCatchesUpWhenItIsVisible(t *testing.T) {
	t.Parallel()
	s, b := serve(t, busy()), openTab(t)
	b.visit(s.URL)
	b.awaitText("#live", "live")
	hide := func(isHidden bool) {
		b.Helper()
		b.run(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`, isHidden))
		b.eventually("only a visible page has a stream", func() error {
			if open := s.streams.Load(); (open == 0) != isHidden {
				return fmt.Errorf("%d streams are open", open)
			}
			return nil
		})
	}
	for range 2 {
		hide(true)
	}
	s.show(embellished(t, busy(), "-2"))
	for range 2 {
		hide(false)
	}
	b.awaitText("#halts h3", "secret/billing/database-2")
	if open := s.streams.Load(); open != 1 {
		t.Errorf("%d streams are open", open)
	}
}

func TestTheKeyboardKeepsItsPlaceWhenThePageChanges(t *testing.T) {
	t.Parallel()
	c := busy()
	s, b := serve(t, c), openTab(t)
	b.visit(s.URL)
	b.run(`document.querySelector("#halts a").focus()`)
	c.Overview.Workloads++
	s.show(c)
	b.awaitText(".note", fmt.Sprintf("%d enabled workloads, 1,032 ConfigMaps and Secrets", c.Overview.Workloads))
	if focused := evaluate[string](b, "document.activeElement.innerText"); focused != "secret/billing/database" {
		t.Errorf("focused is %q", focused)
	}
}

func TestASearchIsInTheAddressAndIsNotLostByAChange(t *testing.T) {
	t.Parallel()
	s, b := serve(t, busy()), openTab(t)
	b.visit(s.URL + listingPath)
	b.awaitText("#live", "live")
	b.run(`const field = document.querySelector("#query"); field.focus(); field.setSelectionRange(1, 1)`)
	changed := busy()
	changed.Listing.Total++
	s.show(changed)
	b.awaitText("main > .note", "20,000 found, sorted by name; page 2 of 100")
	if focused := evaluate[string](b, "document.activeElement.id"); focused != "query" {
		t.Errorf("focused is %q", focused)
	}
	b.do(chromedp.KeyEvent("art"))
	b.awaitText("#live", "paused while you type")
	s.show(busy())
	b.do(chromedp.KeyEvent(kb.Enter))
	b.awaitText("main > .note", "19,999 found, sorted by name; page 2 of 100")
	if address := evaluate[string](b, "location.pathname + location.search"); address != listingPath+"?q=cart&state=rolling&state=held" {
		t.Errorf("the address is %s", address)
	}
	s.mu.Lock()
	if want := "q=cart&state=rolling&state=held"; s.query != want {
		t.Errorf("asked for is %s, want %s", s.query, want)
	}
	s.mu.Unlock()
	s.show(changed)
	b.awaitText("main > .note", "20,000 found, sorted by name; page 2 of 100")
	b.requireNoTrouble(s.host())
}

func TestAListThatAStandbyAnsweredFirstFollowsItsSearch(t *testing.T) {
	t.Parallel()
	s, b := serve(t, standby()), openTab(t)
	const query = "?q=cart&state=held"
	b.visit(s.URL + listingPath + query)
	b.awaitText("#live", "live")
	s.show(busy())
	b.awaitText("main > .note", "19,999 found, sorted by name; page 2 of 100")
	if address := evaluate[string](b, `document.querySelector(".json").getAttribute("href")`); !strings.HasPrefix(address, listingPath+"/status.json?") {
		t.Errorf("the JSON is at %s", address)
	}
	s.CloseClientConnections() // as when a port is forwarded to another replica
	changed := busy()
	changed.Listing.Total++
	s.show(changed)
	b.awaitText("main > .note", "20,000 found, sorted by name; page 2 of 100")
	requests, _ := b.noted()
	for _, request := range requests {
		if path, _, _ := strings.Cut(request, "?"); strings.HasSuffix(path, "/events") && !strings.HasSuffix(request, query) {
			t.Errorf("a stream is %s", request)
		}
	}
}

// run runs a script on the page.
func (b *tab) run(script string) {
	b.Helper()
	evaluate[bool](b, "(() => {"+script+"; return true})()")
}

// awaitText waits until the first element of a selector has a text.
func (b *tab) awaitText(selector, want string) {
	b.Helper()
	b.eventually(selector+" shows "+want, func() error {
		if shown, _, _ := strings.Cut(b.text(selector), "\n"); shown != want {
			return fmt.Errorf("it shows %q", shown)
		}
		return nil
	})
}

// eventually ends the test unless the condition comes true in time.
func (b *tab) eventually(what string, condition func() error) {
	b.Helper()
	var err error
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = condition(); err == nil {
			return
		}
	}
	b.Fatalf("%s: %v", what, err)
}
