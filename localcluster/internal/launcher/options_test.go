package launcher

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUpWithoutFlagsStartsEverything(t *testing.T) {
	options, err := parseUp(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(options.Components, allComponents) || options.Nodes != 3 || options.Dir != ".localcluster" ||
		options.Kubeconfig != "" || options.WithoutDeploymentController {
		t.Errorf("got %+v", options)
	}
}

func TestComponentsStartInOrderWhateverTheUsersOrder(t *testing.T) {
	options, err := parseUp([]string{"--components=kwok,kube-apiserver", "--components=etcd,etcd"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{Etcd, APIServer, KWOK}; !slices.Equal(options.Components, want) {
		t.Errorf("got %q, want %q", options.Components, want)
	}
}

func TestWithoutKWOKThereAreNoNodes(t *testing.T) {
	options, err := parseUp([]string{"--components=etcd,kube-apiserver"})
	if err != nil {
		t.Fatal(err)
	}
	if options.Nodes != 0 {
		t.Errorf("got %d nodes", options.Nodes)
	}
}

func TestExtraFlagsKeepTheirCommas(t *testing.T) {
	options, err := parseUp([]string{"--kube-apiserver-flag=--feature-gates=A=true,B=false", "--kube-apiserver-flag", "--v=2"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := options.ExtraFlags[APIServer], []string{"--feature-gates=A=true,B=false", "--v=2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKubeconfigIsFoundFromAnyWorkingDirectory(t *testing.T) {
	options, err := parseUp([]string{"--kubeconfig=k"})
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(options.Kubeconfig) {
		t.Errorf("got %q", options.Kubeconfig)
	}
}

func TestCommandLinesThatMakeNoSenseAreRefusedInOneLine(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{"", "a command is missing"},
		{"frob", `unknown command "frob"`},
		{"up --frob", "unknown flag: --frob"},
		{"up extra", `unexpected argument "extra"`},
		{"up --dir=", "--dir must not be empty"},
		{"up --nodes=-1", "must not be negative"},
		{"up --nodes=x", "invalid argument"},
		{"up --components=", "must include etcd and kube-apiserver"},
		{"up --components=kube-apiserver", "must include etcd and kube-apiserver"},
		{"up --components=etcd,kube-apiserver,kubectl", `unknown component "kubectl"`},
		{"up --components=etcd,kube-apiserver,kube-scheduler", "must include kube-controller-manager"},
		{"up --components=etcd,kube-apiserver --nodes=1", "nodes need kwok"},
		{"up --components=etcd,kube-apiserver --kwok-flag=--v=1", "kwok is not among --components"},
		{"up --etcd-flag=log-level=info", "must look like --etcd-flag=--name=value"},
		{"up --control-plane=none", "no such file or directory"},
		{"down x", `unexpected argument "x"`},
		{"status --nodes=1", "unknown flag: --nodes"},
		{"kill", "a component is missing"},
		{"kill etcd kwok", `unexpected argument "kwok"`},
		{"start kubelet", `unknown component "kubelet"`},
	}
	for _, test := range tests {
		t.Run(test.arguments, func(t *testing.T) {
			t.Chdir(t.TempDir()) // what starts by mistake must not start in the source tree
			var stdout, stderr strings.Builder
			if code := Main(strings.Fields(test.arguments), &stdout, &stderr); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			message := stderr.String()
			if !strings.Contains(message, test.want) || strings.Count(message, "\n") != 1 || stdout.Len() > 0 {
				t.Errorf("got %q and %q, want one line with %q", stdout.String(), message, test.want)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	for _, arguments := range [][]string{{"help"}, {"--help"}, {"up", "--help"}, {"kill", "-h"}} {
		var stdout, stderr strings.Builder
		if code := Main(arguments, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
			t.Fatalf("%q: exit code %d, %s", arguments, code, stderr.String())
		}
		for _, flag := range []string{"--dir", "--kubeconfig", "--nodes", "--components", "--control-plane", "--without-deployment-controller", "--kwok-flag"} {
			if !strings.Contains(stdout.String(), flag) {
				t.Errorf("%q: no word of %s", arguments, flag)
			}
		}
	}
}

func TestCommandsSayWhereNoClusterRuns(t *testing.T) {
	dir := t.TempDir()
	for _, arguments := range [][]string{{"down"}, {"status"}, {"kill", "etcd"}, {"start", "etcd"}} {
		var stdout, stderr strings.Builder
		code := Main(append(arguments, "--dir", dir), &stdout, &stderr)
		if want := "localcluster: no cluster runs in " + dir + "\n"; code != 1 || stderr.String() != want {
			t.Errorf("%q: exit code %d, %q; want %q", arguments, code, stderr.String(), want)
		}
	}
}
