package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority issues the certificates of one cluster. Its key stays in the cluster's folder, so that a
// test can issue more of them (a webhook's server certificate, a client with a name of its own).
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// keyPair names the two PEM files of a certificate and its key.
type keyPair struct{ certificateFile, keyFile string }

const validity = 7 * 24 * time.Hour

func newAuthority(folder string) (*authority, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "yardmaster-test-ca"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{folder: folder, certificate: certificate, key: key}
	if err := writePEM(a.caFile(), "CERTIFICATE", der, 0o644); err != nil {
		return nil, err
	}
	return a, writeKey(a.caKeyFile(), key)
}

func (a *authority) caFile() string    { return filepath.Join(a.folder, "ca.crt") }
func (a *authority) caKeyFile() string { return filepath.Join(a.folder, "ca.key") }

// client issues a client certificate: the API server takes CN as the user and O as the groups.
func (a *authority) client(name, user string, groups ...string) (keyPair, error) {
	return a.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// server issues a serving certificate for loopback.
func (a *authority) server(name string) (keyPair, error) {
	return a.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) issue(name string, template *x509.Certificate) (keyPair, error) {
	pair := keyPair{filepath.Join(a.folder, name+".crt"), filepath.Join(a.folder, name+".key")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair, err
	}
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = a.certificate.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair, err
	}
	if err := writePEM(pair.certificateFile, "CERTIFICATE", der, 0o644); err != nil {
		return pair, err
	}
	return pair, writeKey(pair.keyFile, key)
}

// signer makes the key pair that signs ServiceAccount tokens; the first file is its public half.
func (a *authority) signer(name string) (keyPair, error) {
	pair := keyPair{filepath.Join(a.folder, name+".pub"), filepath.Join(a.folder, name+".key")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return pair, err
	}
	if err := writePEM(pair.certificateFile, "PUBLIC KEY", public, 0o644); err != nil {
		return pair, err
	}
	return pair, writeKey(pair.keyFile, key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	// SEC 1 and not PKCS 8: the controller manager's token signer and old OpenSSL tools read both.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
