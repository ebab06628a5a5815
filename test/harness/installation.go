package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// tokenLifetime is longer than anybody leaves a local cluster running.
const tokenLifetime = 7 * 24 * time.Hour

// Installation is the controller's ServiceAccount in a cluster, with the permissions
// that manifests give it.
type Installation struct {
	// Namespace and ServiceAccount say who the controller is.
	Namespace, ServiceAccount string
	// Kubeconfig is the path of a kubeconfig with a token of that account.
	Kubeconfig string
	// Environment holds variables for the controllers, in addition to the test's own.
	Environment []string
}

// Manifest reads a file of k8s-manifests/.
func Manifest(name string) ([]byte, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, "k8s-manifests", name))
}

// Manifests reads several files of k8s-manifests/ into one.
func Manifests(names ...string) ([]byte, error) {
	var all [][]byte
	for _, name := range names {
		manifest, err := Manifest(name)
		if err != nil {
			return nil, err
		}
		all = append(all, manifest)
	}
	return bytes.Join(all, []byte("\n---\n")), nil
}

// Install applies the manifests, which hold a ServiceAccount and what it may do,
// and writes a kubeconfig for it into the cluster's directory.
func (c *Cluster) Install(ctx context.Context, manifests []byte) (*Installation, error) {
	account, err := serviceAccountOf(manifests)
	if err != nil {
		return nil, fmt.Errorf("install the controller: %w", err)
	}
	if _, err := c.Apply(ctx, manifests); err != nil {
		return nil, fmt.Errorf("install the controller: %w", err)
	}
	return c.Installation(ctx, account.Namespace, account.Name)
}

// Installation writes a kubeconfig for a ServiceAccount that is there into the cluster's
// directory.
func (c *Cluster) Installation(ctx context.Context, namespace, serviceAccount string) (*Installation, error) {
	token, err := requestToken(ctx, c.client, namespace, serviceAccount)
	if err != nil {
		return nil, fmt.Errorf("install the controller: %w", err)
	}
	installation := &Installation{
		Namespace:      namespace,
		ServiceAccount: serviceAccount,
		Kubeconfig:     filepath.Join(c.directory, fmt.Sprintf("controller-%s-%s.kubeconfig", namespace, serviceAccount)),
	}
	if err := writeKubeconfig(installation.Kubeconfig, c.config, token); err != nil {
		return nil, fmt.Errorf("install the controller: %w", err)
	}
	return installation, nil
}

func serviceAccountOf(manifests []byte) (metav1.ObjectMeta, error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var object metav1.PartialObjectMetadata
		err := documents.Decode(&object)
		if errors.Is(err, io.EOF) {
			return metav1.ObjectMeta{}, errors.New("no ServiceAccount in the manifests")
		}
		if err != nil {
			return metav1.ObjectMeta{}, fmt.Errorf("read manifests: %w", err)
		}
		if object.Kind == "ServiceAccount" {
			return object.ObjectMeta, nil
		}
	}
}

func requestToken(ctx context.Context, client kubernetes.Interface, namespace, serviceAccount string) (string, error) {
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for %s/%s: %w", namespace, serviceAccount, err)
	}
	return answer.Status.Token, nil
}

func writeKubeconfig(path string, admin *rest.Config, token string) error {
	const name = "controller"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{
		Server:                   admin.Host,
		CertificateAuthority:     admin.CAFile,
		CertificateAuthorityData: admin.CAData,
	}
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the controller's kubeconfig: %w", err)
	}
	return nil
}
