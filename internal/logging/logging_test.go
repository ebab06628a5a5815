package logging

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/brief"
)

func TestTheClientLibraryNeverLogsResponses(t *testing.T) {
	for _, verbose := range []int{0, 1, 4, 5, 8, 100} {
		var out strings.Builder
		New(false, verbose, &out)
		logClient(8, "response body: canary")
		logClient(6, "response headers")
		if out.Len() > 0 {
			t.Errorf("--verbose=%d logs %s", verbose, out.String())
		}
		logClient(4, "a detail")
		if got := strings.Contains(out.String(), "a detail"); got != (verbose >= 4) {
			t.Errorf("--verbose=%d logs the client library's details: %v", verbose, got)
		}
	}
}

// logClient logs as the client library does, in both of its ways.
func logClient(verbosity int, message string) {
	klog.Background().V(verbosity).Info(message)
	klog.V(klog.Level(verbosity)).Info(message)
}

func TestWarningsOfTheAPIServerAreNotLogged(t *testing.T) {
	rest.SetDefaultWarningHandler(rest.WarningLogger{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "whatever a webhook says"`)
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	var out strings.Builder
	New(false, 0, &out)
	core, err := apiclient.ConnectGroup(&rest.Config{Host: server.URL}, corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	if err := core.Get().Resource("pods").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("the log says %s", &out)
	}
}

func TestTheTextOfAnErrorIsCutInTheLog(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		log := New(format == "json", 0, &out)
		denial := errors.New("denied: " + strings.Repeat("x", 1<<20))
		log.Warn("cannot write", "error", denial)
		klog.Background().Error(denial, "Server rejected event")
		if lines := strings.Count(out.String(), "[cut]"); lines != 2 || out.Len() > 10_000 {
			t.Errorf("%s: %d bytes, %d are cut: %.2000s", format, out.Len(), lines, &out)
		}
		log.Warn("cannot write", "error", errors.New("denied: it is Friday"))
		if !strings.Contains(out.String(), "denied: it is Friday") || strings.Count(out.String(), "[cut]") != 2 {
			t.Errorf("%s: %.5000s", format, &out)
		}
	}
}

func TestLostEventsOfANamespaceDoNotFloodTheLog(t *testing.T) {
	var out strings.Builder
	New(false, 0, &out)
	for range linesAtOnce + 500 {
		klog.Background().Error(errors.New("forbidden"), "Unable to write an Event", "namespace", "hostile", "tries", 1)
	}
	if lines := strings.Count(out.String(), "\n"); lines < linesAtOnce || lines > linesAtOnce+100 {
		t.Errorf("%d lines", lines)
	}
	klog.Background().Error(errors.New("forbidden"), "Unable to write an Event", "namespace", "other", "tries", 1)
	if !strings.Contains(out.String(), "namespace=other") {
		t.Error("the line about another namespace is missing")
	}
}

// A tenant chooses reasons of holds, and webhooks choose the texts of their denials.
func TestWhatOthersWriteIsVisibleInTheLog(t *testing.T) {
	const hostile = "a\u202eb\u2066c\u009bd\x1be\U000e0041f\ng\xff"
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		log := New(format == "json", 0, &out)
		log.Warn("held", "why", hostile, "error", errors.New(hostile), "any", map[string]string{"k": hostile})
		log.With("why", hostile).Info("held")
		klog.Background().Error(errors.New(hostile), "Server rejected event", "event", hostile)
		if lines := strings.Count(out.String(), "\n"); lines != 3 {
			t.Errorf("%s: %d lines", format, lines)
		}
		for _, r := range out.String() {
			if r != '\n' && brief.IsUnsafe(r) && r != utf8.RuneError {
				t.Errorf("%s: the log has %U", format, r)
			}
		}
		if format == "json" {
			var line struct{ Why, Error string }
			if err := json.Unmarshal([]byte(strings.SplitAfter(out.String(), "\n")[0]), &line); err != nil || line.Why != strings.ToValidUTF8(hostile, "\ufffd") || line.Error != line.Why {
				t.Errorf("tools read %q, %v", line, err)
			}
		}
	}
}
