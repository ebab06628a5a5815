package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestADirectoryWithOtherFilesIsLeftAlone(t *testing.T) {
	layout := Layout{t.TempDir()}
	mine := filepath.Join(layout.Dir, "etcd") // even if it bears a name that a cluster uses
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := layout.claim(); err == nil || !strings.Contains(err.Error(), "no cluster ever lived in it") {
		t.Errorf("got %v", err)
	}
	if content, err := os.ReadFile(mine); err != nil || string(content) != "precious" {
		t.Errorf("got %q, %v", content, err)
	}
}

func TestADirectoryServesOneClusterAtATimeAndEachFindsItEmpty(t *testing.T) {
	layout := Layout{filepath.Join(t.TempDir(), "new", "folder")}
	lock, removed, err := layout.claim()
	if err != nil || removed {
		t.Fatalf("removed=%t, %v", removed, err)
	}
	left := filepath.Join(layout.etcdData(), "member")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if free, err := layout.free(); free || err != nil {
		t.Errorf("free=%t, %v", free, err)
	}
	shutdown, err := controlServer{}.serve(layout)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := layout.claim(); err == nil || !strings.Contains(err.Error(), "in use by another cluster") {
		t.Errorf("got %v", err)
	}
	shutdown()

	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	lock, removed, err = layout.claim()
	if err != nil || !removed {
		t.Fatalf("removed=%t, %v", removed, err)
	}
	defer lock.Close()
	if _, err := os.Stat(left); err == nil {
		t.Error("the data of the earlier cluster is still there")
	}
}

func TestTheSocketWorksHoweverLongItsPathIs(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp")
	for _, folder := range []string{"short", strings.Repeat("long", 50)} {
		layout := Layout{filepath.Join(t.TempDir(), folder)}
		if err := os.Mkdir(layout.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if answers(layout) {
			t.Errorf("%s: something answers before anything listens", folder)
		}
		shutdown, err := controlServer{}.serve(layout)
		if err != nil {
			t.Fatal(err)
		}
		if !answers(layout) {
			t.Errorf("%s: nothing answers", folder)
		}
		shutdown()
		if entries, err := os.ReadDir(layout.Dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: left behind: %v, %v", folder, entries, err)
		}
	}
}

func TestKubeconfigArgumentsOfKubectlAreFound(t *testing.T) {
	for argument, want := range map[string]bool{"--kubeconfig": true, "--kubeconfig=x": true, "--kubeconfigs": false, "get": false} {
		if got := slices.ContainsFunc([]string{argument}, namesKubeconfig); got != want {
			t.Errorf("%s: got %t", argument, got)
		}
	}
}
