package launcher

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLifetime is ample for a cluster that lives as long as one process.
const certificateLifetime = 365 * 24 * time.Hour

// servingNames are the names under which the API server is reached, from outside and, were there pods with processes
// in them, from inside the cluster. The address is the first of the service range.
var (
	servingNames     = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	servingAddresses = []net.IP{net.ParseIP(localhost), net.ParseIP("10.96.0.1")}
)

// writePKI writes a certificate authority, one serving certificate for all components that speak TLS, and the key
// pair that signs the tokens of service accounts.
func writePKI(layout Layout) error {
	caKey, err := newKey()
	if err != nil {
		return err
	}
	ca := certificateTemplate(1, "localcluster-ca")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	if err := writeCertificate(layout.caCert(), ca, ca, caKey, caKey); err != nil {
		return err
	}

	servingKey, err := newKey()
	if err != nil {
		return err
	}
	serving := certificateTemplate(2, "localcluster")
	serving.KeyUsage, serving.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames, serving.IPAddresses = servingNames, servingAddresses
	if err := writeCertificate(layout.servingCert(), serving, ca, servingKey, caKey); err != nil {
		return err
	}
	if err := writePrivateKey(layout.servingKey(), servingKey); err != nil {
		return err
	}

	tokenKey, err := newKey()
	if err != nil {
		return err
	}
	if err := writePrivateKey(layout.serviceAccountKey(), tokenKey); err != nil {
		return err
	}
	return writePublicKey(layout.serviceAccountPublicKey(), tokenKey)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return key, nil
}

func certificateTemplate(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // a clock that is set back a little must not break the cluster
		NotAfter:     now.Add(certificateLifetime),
	}
}

func writeCertificate(file string, template, issuer *x509.Certificate, subject, signer *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &subject.PublicKey, signer)
	if err != nil {
		return fmt.Errorf("sign certificate %s: %w", filepath.Base(file), err)
	}
	return writePEM(file, "CERTIFICATE", der)
}

func writePrivateKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key %s: %w", filepath.Base(file), err)
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePublicKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode key %s: %w", filepath.Base(file), err)
	}
	return writePEM(file, "PUBLIC KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
