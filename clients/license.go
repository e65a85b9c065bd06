// license.go - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//	c := Client{BaseURL, Token, PublicKey, StateFile}
//	if v := c.Check(licenseKey, productID, HardwareID(productID)); v.State != "valid" { … }
//
// Token has the scope `verify` and nothing else; PublicKey is what GET /api/v1/license/public-key says, built into your program.
// Needs nothing but the standard library. How it works: docs/checking-a-licence.md.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	grace          = 7 * 24 * 3600 // seconds: how long the last good answer counts while the store cannot be reached
	skew           = 300           // seconds: clocks differ by as much
	timeout        = 5 * time.Second
	answerBytesMax = 64 * 1024
	components     = `("@status" "content-digest" "content-digest";req)`
)

var (
	inputField     = regexp.MustCompile(`^sig1=(.+)$`)
	signatureField = regexp.MustCompile(`^sig1=:([A-Za-z0-9+/=]+):$`)
	createdField   = regexp.MustCompile(`;created=(\d{1,12})`)
)

type Client struct{ BaseURL, Token, PublicKey, StateFile string }

// State is "valid"; "refused": the store says so; "unknown": nobody says anything that can be trusted.
type Verdict struct{ State, Reason string }

type answer struct {
	status            int
	params, signature string
	body              []byte
}

type question struct {
	LicenseKey string `json:"license_key"`
	ProductID  int64  `json:"product_id"`
	HardwareID string `json:"hardware_id"`
}

// HardwareID is this machine, for this product: other vendors' programs see another id.
func HardwareID(productID int64) string {
	text, err := os.ReadFile("/etc/machine-id")
	machine := strings.TrimSpace(string(text))
	if err != nil {
		machine, _ = os.Hostname()
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\n%d", machine, productID)))
	return hex.EncodeToString(sum[:])
}

func (c Client) Check(licenseKey string, productID int64, hardwareID string) Verdict {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	random := make([]byte, 16)
	if encoder.Encode(question{licenseKey, productID, hardwareID}) != nil {
		return Verdict{"unknown", "bad_question"}
	}
	if _, err := rand.Read(random); err != nil {
		return Verdict{"unknown", "no_random"}
	}
	request, nonce, now := bytes.TrimSpace(text.Bytes()), hex.EncodeToString(random), time.Now().Unix()
	a := c.ask(request, nonce)
	if a == nil || !strings.Contains(a.params, `;nonce="`+nonce+`"`) || !c.isSigned(request, a) {
		return c.checkOffline(request, now)
	}
	if a.status == http.StatusOK {
		c.save(max(now, a.created()), request, a)
		return Verdict{"valid", "online"}
	}
	os.Remove(c.StateFile)
	var refusal struct{ Code string }
	json.Unmarshal(a.body, &refusal)
	return Verdict{"refused", refusal.Code}
}

// ask gives the store's answer, if it claims to be signed.
func (c Client) ask(request []byte, nonce string) *answer {
	client := http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	call, err := http.NewRequest("POST", c.BaseURL+"/api/v1/license/verify", bytes.NewReader(request))
	if err != nil {
		return nil
	}
	call.Header.Set("Authorization", "Bearer "+c.Token)
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept-Signature", `sig1=();nonce="`+nonce+`"`)
	response, err := client.Do(call)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	params := inputField.FindStringSubmatch(response.Header.Get("Signature-Input"))
	signature := signatureField.FindStringSubmatch(response.Header.Get("Signature"))
	if err != nil || len(body) > answerBytesMax || params == nil || signature == nil {
		return nil
	}
	return &answer{response.StatusCode, params[1], signature[1], body}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func (a *answer) created() int64 {
	seconds, _ := strconv.ParseInt(createdField.FindStringSubmatch(a.params)[1], 10, 64)
	return seconds
}

// isSigned says whether the store has signed this answer to this question (RFC 9421).
func (c Client) isSigned(request []byte, a *answer) bool {
	key, err1 := base64.StdEncoding.DecodeString(c.PublicKey)
	signature, err2 := base64.StdEncoding.DecodeString(a.signature)
	if err1 != nil || err2 != nil || len(key) != ed25519.PublicKeySize || !strings.HasPrefix(a.params, components+";created=") ||
		!createdField.MatchString(a.params) {
		return false
	}
	text := fmt.Sprintf("\"@status\": %d\n\"content-digest\": %s\n\"content-digest\";req: %s\n\"@signature-params\": %s",
		a.status, digest(a.body), digest(request), a.params)
	return ed25519.Verify(key, []byte(text), signature)
}

// checkOffline: the last good answer counts for a while, if it is about this question and the clock has not been turned back.
func (c Client) checkOffline(request []byte, now int64) Verdict {
	text, err := os.ReadFile(c.StateFile)
	if err != nil {
		return Verdict{"unknown", "unreachable"}
	}
	parts := bytes.SplitN(text, []byte("\n"), 6)
	if len(parts) != 6 {
		return Verdict{"unknown", "bad_state"}
	}
	seen, err1 := strconv.ParseInt(string(parts[0]), 10, 64)
	status, err2 := strconv.Atoi(string(parts[2]))
	a := &answer{status, string(parts[3]), string(parts[4]), parts[5]}
	if err1 != nil || err2 != nil {
		return Verdict{"unknown", "bad_state"}
	}
	if !bytes.Equal(parts[1], request) {
		return Verdict{"unknown", "other_licence"}
	}
	if status != http.StatusOK || !c.isSigned(request, a) {
		return Verdict{"unknown", "bad_state"}
	}
	if now+skew < max(seen, a.created()) {
		return Verdict{"unknown", "clock"}
	}
	if now > a.created()+grace {
		return Verdict{"unknown", "grace_over"}
	}
	var good struct {
		Data struct {
			ExpiresAt *time.Time `json:"expires_at"`
		}
	}
	if json.Unmarshal(a.body, &good) != nil {
		return Verdict{"unknown", "bad_state"}
	}
	if good.Data.ExpiresAt != nil && now >= good.Data.ExpiresAt.Unix() {
		return Verdict{"refused", "license_expired"}
	}
	c.save(max(seen, now), request, a)
	return Verdict{"valid", "offline"}
}

// save keeps the answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
// Without it there is no grace; the verdict stands.
func (c Client) save(seen int64, request []byte, a *answer) {
	head := fmt.Sprintf("%d\n%s\n%d\n%s\n%s\n", seen, request, a.status, a.params, a.signature)
	if os.WriteFile(c.StateFile+".new", append([]byte(head), a.body...), 0o600) == nil {
		os.Rename(c.StateFile+".new", c.StateFile)
	}
}

func max(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

func main() {
	if len(os.Args) < 8 || len(os.Args)%7 != 1 {
		fmt.Fprintln(os.Stderr, "usage: license (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...")
		os.Exit(64)
	}
	var v Verdict
	for args := os.Args[1:]; len(args) > 0; args = args[7:] {
		product, _ := strconv.ParseInt(args[4], 10, 64)
		hardware := args[5]
		if hardware == "auto" {
			hardware = HardwareID(product)
		}
		v = Client{args[0], args[1], args[2], args[6]}.Check(args[3], product, hardware)
		fmt.Println(v.State, v.Reason)
	}
	os.Exit(map[string]int{"valid": 0, "refused": 1, "unknown": 2}[v.State])
}
