package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// browserVariable is the variable of the environment that names the browser's binary.
	browserVariable = "CHROMIUM_BINARY"
	// requiredVariable is the variable that makes a missing browser a failure.
	requiredVariable = "REQUIRE_CHROMIUM"
)

// waitLimit is far above what anything takes (seconds), for machines under load.
const waitLimit = 3 * time.Minute

// findBrowser returns the path of Chromium. Without one, it skips the test, or fails it.
func findBrowser(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(browserVariable); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	message := "no Chromium: install it (on Debian: apt-get install chromium), or set " + browserVariable
	if os.Getenv(requiredVariable) != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// chromium is the browser of all tests.
var chromium struct {
	start sync.Once
	ctx   context.Context
	err   error
	end   func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.end != nil {
		chromium.end()
	}
	os.Exit(code)
}

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := findBrowser(t)
	chromium.start.Do(func() {
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.WSURLReadTimeout(waitLimit))
		if os.Geteuid() == 0 { // Chromium's sandbox does not work for root
			options = append(options, chromedp.NoSandbox)
		}
		allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, end := chromedp.NewContext(allocator)
		chromium.ctx, chromium.end = ctx, func() { end(); endAllocator() }
		chromium.err = chromedp.Do(ctx)
	})
	if chromium.err != nil {
		t.Fatalf("start Chromium: %v", chromium.err)
	}
	return chromium.ctx
}

// tab is a tab of the browser, which shares nothing with others.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // addresses
	troubles []string // what the console shows
}

func openTab(t *testing.T) *tab {
	t.Helper()
	b := &tab{T: t}
	var end context.CancelFunc
	b.ctx, end = chromedp.NewContext(startBrowser(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.note))
	t.Cleanup(end)
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	b.prefer("light")
	b.resize(1400, 900)
	return b
}

// note notes what the browser requests, and what it complains about.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.troubles = append(b.troubles, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		b.troubles = append(b.troubles, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *page.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog: "+e.Message)
	}
}

// noted returns what was noted so far.
func (b *tab) noted() (requests, troubles []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests), slices.Clone(b.troubles)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, end := context.WithTimeout(b.ctx, waitLimit)
	defer end()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], parameters P) R {
	b.Helper()
	result, err := chromedp.Call(b.ctx, command, parameters)
	if err != nil {
		b.Fatal(err)
	}
	return result
}

// prefer chooses light or dark.
func (b *tab) prefer(scheme string) {
	b.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// resize chooses the size of the page in CSS pixels.
func (b *tab) resize(width, height int64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// forbidScripts turns JavaScript off for the pages that follow.
func (b *tab) forbidScripts() {
	b.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// visit loads a page.
func (b *tab) visit(address string) {
	b.Helper()
	b.do(chromedp.Navigate(address))
}

// evaluate returns the value of an expression on the page.
func evaluate[T any](b *tab, expression string) T {
	b.Helper()
	ctx, end := context.WithTimeout(b.ctx, waitLimit)
	defer end()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text returns what a person reads in the elements of a selector.
func (b *tab) text(selector string) string {
	b.Helper()
	return evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText).join("\n")`, selector))
}

// requireNoTrouble fails the test if the browser has complained about anything, or has requested
// anything from elsewhere than the host of the page.
func (b *tab) requireNoTrouble(host string) {
	b.Helper()
	requests, troubles := b.noted()
	for _, trouble := range troubles {
		b.Error(trouble)
	}
	if len(requests) == 0 {
		b.Error("no request was noted")
	}
	for _, request := range requests {
		if requested, err := url.Parse(request); err != nil || requested.Scheme != "http" || requested.Host != host {
			b.Errorf("the page requested %s", request)
		}
	}
}
