package launcher

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// newClient returns the admin's client, without the limit of 5 requests a second that client-go has by itself.
func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}

// newNode describes a node that KWOK will keep alive. It is far larger than a real one, so that the number of nodes
// never limits what one can try.
func newNode(number int) *corev1.Node {
	name := fmt.Sprintf("node-%d", number)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
				"type":                 "kwok",
			},
		},
		Status: corev1.NodeStatus{Allocatable: resources, Capacity: resources},
	}
}

func createNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	for number := 1; number <= count; number++ {
		_, err := client.CoreV1().Nodes().Create(ctx, newNode(number), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create node %d: %w", number, err)
		}
	}
	return nil
}

// waitForNodes waits until the nodes are Ready and, where a controller manager runs to do so, their taints are gone.
func waitForNodes(ctx context.Context, client kubernetes.Interface, count int, untainted bool) error {
	return waitFor(ctx, fmt.Sprintf("%d Ready nodes", count), func(ctx context.Context) error {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		ready := 0
		for i := range list.Items {
			node := &list.Items[i]
			if isReady(node) && (!untainted || len(node.Spec.Taints) == 0) {
				ready++
			}
		}
		if ready < count {
			return fmt.Errorf("%d of %d nodes are Ready and free of taints", ready, count)
		}
		return nil
	})
}

// releaseNodes deletes the leases of the nodes. A KWOK holds its nodes by leases, and a new one, even if the old one was
// killed, would do nothing for them and their pods until the leases end 40 s later.
func releaseNodes(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("delete leases of nodes: %w", err)
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

func waitForNamespace(ctx context.Context, client kubernetes.Interface) error {
	return waitFor(ctx, "the default namespace", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	})
}

// waitForServiceAccount waits for what the admission of every pod in the default namespace needs.
func waitForServiceAccount(ctx context.Context, client kubernetes.Interface) error {
	return waitFor(ctx, "the default service account", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// waitFor looks again and again until there is no error.
func waitFor(ctx context.Context, what string, look func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		last = look(ctx)
		return last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case apierrors.IsNotFound(last):
		return fmt.Errorf("wait for %s: not there after %s", what, readyTimeout)
	}
	return fmt.Errorf("wait for %s: %w", what, last)
}
