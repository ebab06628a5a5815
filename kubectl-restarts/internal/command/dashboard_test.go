package command_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const leaderLeasePath = "/apis/coordination.k8s.io/v1/namespaces/deployment-restart-controller/leases/kubernetes-deployment-restart-controller"

// heldLease is a Lease that a pod holds which has gone without giving it up.
func heldLease() string {
	return fmt.Sprintf(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"},"spec":{"holderIdentity":"ctl-1_f3b1","leaseDurationSeconds":15,"renewTime":%q}}`, time.Now().Add(-time.Minute).UTC().Format("2006-01-02T15:04:05.000000Z"))
}

// browser puts a program in the place of the browser, which calls nothing but a file that gets the address.
func browser(t *testing.T, script string) (opened string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the program that opens the browser has another name")
	}
	directory := t.TempDir()
	opened = filepath.Join(directory, "opened")
	if script != "" {
		script = "#!/bin/sh\n" + strings.ReplaceAll(script, "FILE", opened) + "\n"
		if err := os.WriteFile(filepath.Join(directory, "xdg-open"), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", directory+":/usr/bin:/bin")
	if script == "" {
		t.Setenv("PATH", directory)
	}
	return opened
}

func TestTheDashboardIsServedUntilItEnds(t *testing.T) {
	s := newServer(t)
	s.objects[leaderLeasePath] = heldLease()
	opened := browser(t, `echo "$1" > FILE.new && mv FILE.new FILE`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	page := make(chan string, 1)
	go func() {
		defer cancel()
		var address []byte
		for err := os.ErrNotExist; err != nil && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			address, err = os.ReadFile(opened)
		}
		response, err := http.Get(strings.TrimSpace(string(address))) //nolint:noctx // the server ends it
		if err != nil {
			page <- err.Error()
			return
		}
		defer response.Body.Close()
		said, _ := io.ReadAll(response.Body)
		page <- fmt.Sprintf("%d %s %s", response.StatusCode, response.Request.URL.Path, said)
	}()
	code, stdout, stderr := s.run(ctx, "dashboard")
	const nobody = "Probably no replica of the controller leads, so nothing restarts: pod ctl-1 has not renewed its lease of 15 s"
	if said := <-page; !strings.HasPrefix(said, "503 /namespace/shop <!DOCTYPE html>") || !strings.Contains(said, nobody) || !strings.Contains(said, "there is no pod ctl-1 in namespace deployment-restart-controller") {
		t.Errorf("the page says %s", said)
	}
	if code != 0 || !strings.HasPrefix(stdout, "The leader's status page is at http://127.0.0.1:") || !strings.HasSuffix(stdout, "/namespace/shop until you press Ctrl-C.\n") || !strings.HasPrefix(stderr, "note: "+nobody) {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestTheDashboardNeedsNoBrowser(t *testing.T) {
	s := newServer(t)
	s.objects[leaderLeasePath] = heldLease()
	for script, arguments := range map[string][]string{"": {"dashboard"}, "exit 3": {"dashboard"}, "touch FILE": {"dashboard", "--no-browser"}} {
		opened := browser(t, script)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		code, stdout, stderr := s.run(ctx, arguments...)
		cancel()
		_, err := os.Stat(opened)
		if code != 0 || stdout == "" || err == nil || strings.Contains(stderr, "note: cannot open the browser: ") != (len(arguments) == 1) {
			t.Errorf("%q: %d, %s%s", script, code, stdout, stderr)
		}
	}
}

func TestADashboardThatCannotWorkSaysWhy(t *testing.T) {
	s := newServer(t)
	const forward = "/api/v1/namespaces/deployment-restart-controller/pods/ctl-1/portforward"
	for want, test := range map[string]struct{ lease, denied, argument string }{
		"there is no lease deployment-restart-controller/kubernetes-deployment-restart-controller; say where": {"", "", "--no-browser"},
		"you may not read the lease":                     {heldLease(), leaderLeasePath, "--no-browser"},
		"you may not reach pod ctl-1: ":                  {heldLease(), forward, "--no-browser"},
		"the dashboard is that of the leader; leave out": {heldLease(), "", "--leader=false"},
		"choose another port with --port":                {heldLease(), "", "--port=" + s.address[strings.LastIndex(s.address, ":")+1:]},
	} {
		delete(s.objects, leaderLeasePath)
		if s.denied = test.denied; test.lease != "" {
			s.objects[leaderLeasePath] = test.lease
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		code, stdout, stderr := s.run(ctx, "dashboard", test.argument)
		if cancel(); code != 1 || stdout != "" || !strings.Contains(stderr, "error: ") || !strings.Contains(stderr, want) {
			t.Errorf("%d, %s%s, want %q", code, stdout, stderr, want)
		}
	}
}
