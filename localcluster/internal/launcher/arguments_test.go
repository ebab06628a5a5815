package launcher

import (
	"slices"
	"strings"
	"testing"
)

var testPorts = Ports{EtcdClient: 1, EtcdPeer: 2, APIServer: 3, ControllerManager: 4, Scheduler: 5, KWOK: 6}

func TestExtraFlagsReplaceDefaultsOfTheSameName(t *testing.T) {
	tests := []struct {
		name                  string
		defaults, extra, want []string
	}{
		{"nothing extra", []string{"--a=1"}, nil, []string{"--a=1"}},
		{"a new flag comes last", []string{"--a=1"}, []string{"--b=2"}, []string{"--a=1", "--b=2"}},
		{"an old one is replaced", []string{"--a=1", "--b=2"}, []string{"--a=3"}, []string{"--b=2", "--a=3"}},
		{"extra flags stay in order, all of them", []string{"--a=1"}, []string{"--a=2", "--a=3"}, []string{"--a=2", "--a=3"}},
		{"underscores and one dash are the same flag", []string{"--a-b=1"}, []string{"-a_b=2"}, []string{"-a_b=2"}},
		{"a prefix is another flag", []string{"--ab=1"}, []string{"--a=2"}, []string{"--ab=1", "--a=2"}},
		{"a flag without value", []string{"--a=false"}, []string{"--a"}, []string{"--a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defaults := slices.Clone(test.defaults)
			if got := mergeFlags(defaults, test.extra); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !slices.Equal(defaults, test.defaults) {
				t.Errorf("the defaults were changed to %q", defaults)
			}
		})
	}
}

func TestDeploymentControllerRunsUnlessLeftOut(t *testing.T) {
	for without, want := range map[bool]string{false: "--controllers=*", true: "--controllers=*,-deployment-controller"} {
		got := arguments(ControllerManager, Layout{"/d"}, testPorts, Options{WithoutDeploymentController: without})
		if !slices.Contains(got, want) {
			t.Errorf("without=%t: %q lacks %s", without, got, want)
		}
	}
}

func TestEveryComponentListensOnTheLoopbackAddressOnly(t *testing.T) {
	listening := map[string][]string{
		Etcd:              {"--listen-client-urls=http://127.0.0.1:1", "--listen-peer-urls=http://127.0.0.1:2"},
		APIServer:         {"--bind-address=127.0.0.1", "--secure-port=3"},
		ControllerManager: {"--bind-address=127.0.0.1", "--secure-port=4"},
		Scheduler:         {"--bind-address=127.0.0.1", "--secure-port=5"},
		KWOK:              {"--server-address=127.0.0.1:6"},
	}
	for _, component := range allComponents {
		got := arguments(component, Layout{"/d"}, testPorts, Options{})
		if got[0] != component {
			t.Errorf("%s: the first argument is %q", component, got[0])
		}
		for _, want := range listening[component] {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q lacks %s", component, got, want)
			}
		}
	}
}

func TestExtraFlagsReachTheirComponentOnly(t *testing.T) {
	options := Options{ExtraFlags: map[string][]string{APIServer: {"--authorization-mode=AlwaysAllow"}}}
	for _, component := range allComponents {
		joined := strings.Join(arguments(component, Layout{"/d"}, testPorts, options), " ")
		if got, want := strings.Contains(joined, "AlwaysAllow"), component == APIServer; got != want {
			t.Errorf("%s has the flag: %t, want %t", component, got, want)
		}
		if strings.Contains(joined, "RBAC") {
			t.Errorf("%s still has the default: %s", component, joined)
		}
	}
}

func TestOnlyTheComponentsOfKubernetesComeFromAnotherControlPlane(t *testing.T) {
	options := Options{ControlPlane: "/older"}
	for component, want := range map[string]string{Etcd: "", APIServer: "/older", ControllerManager: "/older", Scheduler: "/older", KWOK: ""} {
		if got := options.executable(component); got != want {
			t.Errorf("%s is run from %q, want %q", component, got, want)
		}
	}
}
