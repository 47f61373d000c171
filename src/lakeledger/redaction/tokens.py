"""Secrets that are known by their shape, whatever they are called: tokens with a prefix, webhooks, private keys, signatures."""

from __future__ import annotations

from lakeledger.redaction.lazy import lazy

# What a token begins with, and what follows. Each is long and random, so that no word, slug or hash has its shape.
_PREFIXED = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",  # AWS
    r"LTAI[0-9A-Za-z]{16,26}\b",  # Alibaba
    r"AIza[\w-]{35}(?![\w-])|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+|GOOG1E[0-9A-Z]{40,}+|1//0[\w-]{35,}+",  # Google
    r"dapi[0-9a-f]{32}(?:-\d{1,2})?\b|dose[0-9a-f]{32}\b|dkea[0-9a-f]{32}\b",  # Databricks
    r"gh[pousr]_\w{10,}+|github_pat_\w{10,}+",
    r"gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent|imt|oas|ffct)-[\w.-]{10,}+",  # GitLab
    r"xox[abceoprs](?:\.xox[bp])?-[\w-]{10,}+|xapp-[\w-]{10,}+",  # Slack
    r"[sr]k_(?:live|test)_[0-9A-Za-z]{10,}+|whsec_[0-9A-Za-z+/=]{20,}+",  # Stripe
    r"sk-(?:proj|svcacct|admin|ant|or|lf)-[\w-]{20,}+|sk-[0-9A-Za-z]{32,}+",  # OpenAI, Anthropic and others
    r"gsk_[0-9A-Za-z]{40,}+|xai-[0-9A-Za-z]{40,}+|pplx-[0-9A-Za-z]{40,}+|r8_[0-9A-Za-z]{37}\b|hf_[0-9A-Za-z]{30,}+",
    r"npm_[0-9A-Za-z]{36}\b|pypi-[\w-]{50,}+|rubygems_[0-9a-f]{48}\b|dckr_pat_[\w-]{20,}+|cio[0-9A-Za-z]{32}\b",
    r"SG\.[\w-]{16,32}\.[\w-]{16,64}|[0-9a-f]{32}-us\d{1,2}\b|xkeysib-[0-9a-f]{64}-\w{16}",  # SendGrid, Mailchimp, Brevo
    r"do[oprt]_v1_[0-9a-f]{64}\b|HRKU-[\w-]{36,}+|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}\b|sq0(?:atp|csp|idp)-[\w-]{22,}+|EAAA[\w-]{56,}+",
    r"hv[sbr]\.[\w-]{20,}+|\w{14}\.atlasv1\.[\w-]{60,}+|AT(?:ATT|CTT)3[\w=-]{20,}+|ATBB[0-9A-Za-z]{28,}+",  # HashiCorp, Atlassian
    r"dbt[cu]_[\w-]{20,}+|pnu_\w{30,}+|pnb_\w{30,}+|cflt[\w/+-]{56,}+|pscale_(?:tkn|pw|oauth)_[\w.-]{20,}+|npg_[0-9A-Za-z]{10,}+",
    r"sb_secret_[\w-]{20,}+|sbp_[0-9a-f]{40}\b|pat[0-9A-Za-z]{14}\.[0-9a-f]{64}\b|lin_api_\w{30,}+|ntn_\w{40,}+|secret_[0-9A-Za-z]{43}\b",
    r"figd_[\w-]{30,}+|PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b|gl(?:sa|c)_[\w=+/-]{30,}+|NRAK-[0-9A-Z]{27}\b|sntr[yu]s?_[\w=+/.-]{30,}+",
    r"dp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{20,}+|AGE-SECRET-KEY-1[0-9A-Z]{58}\b|\d{8,10}:AA[\w-]{33}(?![\w-])",  # Doppler, age, Telegram
    r"[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])",  # a client secret of Entra ID
)
# A token stands at the beginning of a word or after `%3D`. A JWT may not begin after a dash: many of them would be read again and again.
TOKEN = lazy(
    r"(?:\b|(?<=%[0-9A-Fa-f]{2}))(?:(?P<secret>" + "|".join(_PREFIXED) + r")"
    r"|(?<!-)(?P<jwt>eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]++(?:\.[\w-]++){0,2}))"
)

WEBHOOK = lazy(
    r"(?i:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{1,20}/"
    r"|\.webhook\.office\.com/webhookb2/|outlook\.office(?:365)?\.com/webhook/|hooks\.zapier\.com/hooks/catch/|hook\.[\w.]{1,16}\.make\.com/"
    r"|maker\.ifttt\.com/trigger/\w{1,64}/(?:json/)?with/key/|events\.pagerduty\.com/integration/|api\.telegram\.org/bot"
    r"|azurewebsites\.net/[^\s?]{0,256}\?(?:[^\s&]{0,128}&){0,4}code=)"
    r"(?P<secret>[^\s'\"<>\\]++)"
)
# Long enough that `a basic misunderstanding` is none.
BEARER = lazy(r"(?i:\b(?:bearer|basic)\s{1,8})(?P<secret>[A-Za-z0-9+/_.=~-]{16,}+)")
SIGNATURE = lazy(
    r"(?:(?i:[?&;](?:sig|signature|x-amz-signature|x-amz-credential|x-goog-signature)=)|\bSignature=)(?P<secret>[^\s&'\",;]+)"
    r"|(?i:\b(?:Account|SharedAccess)Key=)(?P<key>[A-Za-z0-9+/]{40,}+={0,2})"
)
PRIVATE_KEY = lazy(
    r"(?s:(?P<secret>-----BEGIN [A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,64}PRIVATE KEY(?: BLOCK)?-----|\Z)))"
)
