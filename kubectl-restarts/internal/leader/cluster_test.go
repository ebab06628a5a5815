package leader_test

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/leader"
)

// A leader whose pod is on a node that is this test, and users with some of the permissions.
const leaderInCluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: ctl}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: ctl}}
---
{apiVersion: v1, kind: Node, metadata: {name: test}, status: {addresses: [{type: InternalIP, address: 127.0.0.1}], daemonEndpoints: {kubeletEndpoint: {Port: PORT}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: leader-1, namespace: ctl}, spec: {nodeName: test, containers: [{name: main, image: main}]}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: election, namespace: ctl}, spec: {holderIdentity: leader-1_f3b1}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: finds, namespace: ctl}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: forwards, namespace: ctl}, rules: [{apiGroups: [""], resources: [pods/portforward], verbs: [create]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: sockets, namespace: ctl}, rules: [{apiGroups: [""], resources: [pods/portforward], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: finds, namespace: ctl}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: finds}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: finder}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: socket}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: forwards, namespace: ctl}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: forwards}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: socket}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: sockets, namespace: ctl}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sockets}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: socket}]}
`

// startCluster starts a real API server, without nodes, and returns how to reach it.
func startCluster(t *testing.T, objects string) *rest.Config {
	t.Helper()
	binary := os.Getenv("LOCALCLUSTER_BINARY")
	if testing.Short() || binary == "" {
		t.Skip("this test needs the local cluster: make test names it in LOCALCLUSTER_BINARY")
	}
	directory := filepath.Join(t.TempDir(), "cluster")
	up := exec.Command(binary, "up", "--dir", directory, "--components=etcd,kube-apiserver")
	up.Stderr = os.Stderr
	said, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := up.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = up.Wait() // it ends by the signal
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "the cluster is ready") {
	}
	if !strings.HasPrefix(lines.Text(), "the cluster is ready") {
		t.Fatalf("the cluster is not ready: %v", lines.Err())
	}
	kubeconfig := filepath.Join(directory, "kubeconfig")
	create := exec.CommandContext(t.Context(), binary, "kubectl", "--kubeconfig="+kubeconfig, "create", "-f", "-")
	create.Stdin = strings.NewReader(objects)
	if output, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestARealAPIServerForwardsForThoseWhoMay(t *testing.T) {
	s := newAPIServer(t, statusPage(true))
	node := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/portForward/ctl/leader-1" {
			http.NotFound(w, r)
			return
		}
		s.forward(w, r)
	}))
	t.Cleanup(node.Close)
	_, port, err := net.SplitHostPort(node.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := startCluster(t, strings.Replace(leaderInCluster, "PORT", port, 1))
	as := func(user string, at uint16) (string, error) {
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = user
		workload, _, err := leader.New(own, leader.Place{Namespace: "ctl", Lease: "election", Port: at}).Workload(t.Context(), web)
		if err != nil {
			return "", err
		}
		return string(workload.State), nil
	}
	for _, user := range []string{"viewer", "socket"} { // by SPDY, and by websocket
		if state, err := as(user, 10255); err != nil || state != "held" {
			t.Errorf("%s: %q, %v", user, state, err)
		}
		own := rest.CopyConfig(config)
		own.Impersonate.UserName = user
		pages := newPages(t, own, leader.Place{Namespace: "ctl", Lease: "election", Port: 10255})
		for range 3 {
			if said, err := get(t, pages, "/workload/deployment/shop/web/status.json"); err != nil || !strings.Contains(said, `"held"`) {
				t.Errorf("%s sees the page: %s, %v", user, said, err)
			}
		}
	}
	for want, test := range map[string]struct {
		user string
		port uint16
	}{
		"pod leader-1 serves no status page at port 1: ":                  {"viewer", 1},
		"you may not reach pod leader-1: ":                                {"finder", 10255},
		"you may not read the lease ctl/election: you need permission to": {"stranger", 10255},
	} {
		if _, err := as(test.user, test.port); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", test.user, err, want)
		}
	}
}
