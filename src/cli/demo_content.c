/* cli/demo_content.c - see demo_content.h. Prices are in cents. */
#include "cli/demo_content.h"

static const char icons_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\">\n"
    "  <symbol id=\"cart\" viewBox=\"0 0 24 24\"><path d=\"M3 4h2l2.4 11h10.2L20 7H6.2\"/><circle cx=\"9\" cy=\"19\" "
    "r=\"1.5\"/><circle cx=\"16\" cy=\"19\" r=\"1.5\"/></symbol>\n"
    "  <symbol id=\"key\" viewBox=\"0 0 24 24\"><circle cx=\"7.5\" cy=\"15.5\" r=\"4\"/><path d=\"M10.5 12.5 20 "
    "3m-4 4 3 3\"/></symbol>\n"
    "  <symbol id=\"download\" viewBox=\"0 0 24 24\"><path d=\"M12 4v11m-5-5 5 5 5-5M4 20h16\"/></symbol>\n"
    "  <symbol id=\"wallet\" viewBox=\"0 0 24 24\"><path d=\"M4 7h15v12H4zM4 7l11-3v3m0 6h4\"/></symbol>\n"
    "  <symbol id=\"ticket\" viewBox=\"0 0 24 24\"><path d=\"M4 7h16v3a2 2 0 0 0 0 4v3H4v-3a2 2 0 0 0 0-4zM14 "
    "7v10\"/></symbol>\n"
    "</svg>\n";

static const char sheets_csv[] = "date,client,invoice,net,tax_rate,tax,gross,paid_on\n"
                                 "2026-01-09,Harbour & Sons,2026-001,1200.00,0.20,240.00,1440.00,2026-01-23\n"
                                 "2026-01-16,Ines Moreau,2026-002,450.00,0.20,90.00,540.00,2026-01-30\n"
                                 "2026-02-02,Kestrel Labs,2026-003,2300.00,0.20,460.00,2760.00,\n";

static const char inbox_html[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>The Quiet Inbox</title></head>\n<body>\n"
    "<h1>The Quiet Inbox</h1>\n<p>A short book about answering less and being reached more.</p>\n"
    "<h2>1. Two windows a day</h2>\n<p>Open the mail twice. Everything that cannot wait for the next window has a "
    "telephone.</p>\n"
    "<h2>2. One touch</h2>\n<p>A message is answered, given away, put on a date or deleted. It is never read "
    "twice.</p>\n"
    "<h2>3. Subjects that say it</h2>\n<p>Write the request into the subject, and half of the replies become one "
    "word.</p>\n</body></html>\n";

static const char presets_text[] =
    "# Lumen preset sampler\n"
    "[Morning fog]\nexposure = +0.25\ncontrast = -12\ntemperature = 5100\nclarity = -8\n"
    "[Harbour night]\nexposure = -0.10\ncontrast = +18\ntemperature = 4300\nclarity = +6\n"
    "[Old slide]\nexposure = +0.05\ncontrast = +9\ntemperature = 5900\nfade = 14\n";

const struct demo_product demo_products[] = {
    {.slug = "lumen-photo-editor",
     .name = "Lumen Photo Editor",
     .description = "Develops RAW photos without touching the original.\nLayers, masks, tethered shooting, colour "
                    "management for print. Runs on Linux, macOS and Windows; one licence moves between them.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 4900,
     .key_prefix = "LUMEN",
     .variants = {{"Personal, 1 device", 4900}, {"Studio, 5 devices", 14900}}},
    {.slug = "lumen-film-looks",
     .name = "Lumen Film Looks",
     .description = "Forty film simulations measured from real rolls, for Lumen Photo Editor 3 and later.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 1900,
     .key_prefix = "LOOKS"},
    {.slug = "cadence-notation",
     .name = "Cadence Notation",
     .description = "Writes, plays and engraves sheet music.\nImports MusicXML and MIDI, listens to a keyboard while "
                    "you play, and sets parts that musicians can read.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 5900,
     .key_prefix = "CADENCE",
     .variants = {{"Yearly", 5900, 365}, {"Monthly", 690, 30}, {"For ever", 17900}}},
    {.slug = "quill-writer",
     .name = "Quill Writer",
     .description = "One page, one column, no toolbar. Keeps every draft, counts words by chapter, exports to EPUB and "
                    "print-ready PDF.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 2900,
     .key_prefix = "QUILL"},
    {.slug = "harbor-backup",
     .name = "Harbor Backup",
     .description = "Encrypted, deduplicated backups of servers and workstations to any S3 storage or disk.\nA restore "
                    "is tested every night, and you are told when it fails.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 3900,
     .license_days = 365,
     .key_prefix = "HARBOR",
     .variants = {{"1 machine, a year", 3900}, {"10 machines, a year", 24900}, {"50 machines, a year", 89900}}},
    {.slug = "strongroom",
     .name = "Strongroom Password Manager",
     .description = "Passwords, passkeys and one-time codes, encrypted on your own devices. Syncs through your own "
                    "server or ours.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 2400,
     .license_days = 365,
     .key_prefix = "STRONG",
     .variants = {{"Single, a year", 2400}, {"Family of six, a year", 3900}}},
    {.slug = "orbitfall",
     .name = "Orbitfall",
     .description = "A slow strategy game about keeping a station in orbit. For one player, about twenty hours.\nKey "
                    "for the PC version.",
     .type = DELIVERY_SERIAL_CODE,
     .price = 3499,
     .code_prefix = "ORBF",
     .codes = 60},
    {.slug = "hollow-pines",
     .name = "Hollow Pines",
     .description = "Point, click, and find out what the lighthouse keeper saw. The deluxe edition has the soundtrack "
                    "and the second ending.",
     .type = DELIVERY_SERIAL_CODE,
     .price = 1999,
     .code_prefix = "HPIN",
     .variants = {{"Standard", 1999, .codes = 30}, {"Deluxe", 2999, .codes = 12}}},
    {.slug = "kinema-gift-card",
     .name = "Kinema Gift Card",
     .description = "Credit for Kinema, the film library without advertising. Redeem it at kinema.example/gift; it "
                    "never expires.",
     .type = DELIVERY_SERIAL_CODE,
     .price = 2500,
     .code_prefix = "KNMA",
     .variants = {{"25", 2500, .codes = 20}, {"10", 1000, .codes = 25}, {"50", 5000, .codes = 8}}},
    {.slug = "skylark-flight-pack",
     .name = "Skylark Flight Simulator: Alps",
     .description = "Twelve alpine airfields with hand-placed obstacles and winter textures. The next delivery of keys "
                    "is on its way.",
     .type = DELIVERY_SERIAL_CODE,
     .price = 2750,
     .code_prefix = "SKYL",
     .codes = 0},
    {.slug = "outline-icons",
     .name = "Outline Icons",
     .description =
         "A sprite of hand-drawn outline icons on a 24-pixel grid. SVG, any size, any colour, for any number "
         "of projects.",
     .type = DELIVERY_DOWNLOAD_URL,
     .price = 1400,
     .file_name = "outline-icons.svg",
     .file_text = icons_svg},
    {.slug = "tally-sheets",
     .name = "Tally: Sheets for Freelancers",
     .description = "Invoices, tax and cash flow in one workbook that an accountant will accept. Opens in every "
                    "spreadsheet program.",
     .type = DELIVERY_DOWNLOAD_URL,
     .price = 900,
     .file_name = "tally-2026.csv",
     .file_text = sheets_csv},
    {.slug = "the-quiet-inbox",
     .name = "The Quiet Inbox",
     .description = "An e-book about answering less and being reached more, by Noor Haddad. 96 pages, HTML and EPUB.",
     .type = DELIVERY_DOWNLOAD_URL,
     .price = 1200,
     .file_name = "the-quiet-inbox.html",
     .file_text = inbox_html,
     .download_limit = 5,
     .download_days = 30},
    {.slug = "lumen-preset-sampler",
     .name = "Lumen Preset Sampler",
     .description = "Three presets to try before you buy. Free.",
     .type = DELIVERY_DOWNLOAD_URL,
     .price = 0,
     .file_name = "lumen-presets.txt",
     .file_text = presets_text},
    {.slug = "cadence-2-beta",
     .name = "Cadence 2 (beta)",
     .description = "Not on sale yet.",
     .type = DELIVERY_LICENSE_KEY,
     .price = 6900,
     .key_prefix = "CADENCE2",
     .is_draft = true},
    {0},
};

const struct demo_coupon demo_coupons[] = {
    {"WELCOME10", COUPON_PERCENT, 1000, .max_uses_per_customer = 1},
    {"LUMEN5", COUPON_FIXED, 500, .max_uses_per_customer = 1, .products = {"lumen-photo-editor", "lumen-film-looks"}},
    {"STUDIO25", COUPON_PERCENT, 2500, .min_total = 10000, .max_uses = 50, .max_uses_per_customer = 1,
     .expires_days = 90},
    {"FRIENDS", COUPON_PERCENT, 1500, .max_uses = 3},
    {"SPRING", COUPON_PERCENT, 2000, .max_uses_per_customer = 1, .starts_days = -120, .expires_days = -30},
    {0},
};

const char *const demo_departments[] = {"Sales", "Technical support", "Billing", NULL};

const struct demo_page demo_pages[] = {
    {"about", "About us",
     "Northlight makes small programs for people who make things.\n\n"
     "We answer support questions ourselves, usually on the same day."},
    {"terms", "Terms",
     "## What you get\n\nA licence for the product that you bought, for as long as its page says.\n\n"
     "## Refunds\n\nWithin 14 days, without a reason: write to us from your account."},
    {"privacy", "Privacy",
     "We keep your e-mail address and what you bought, because we have to. "
     "This shop loads nothing from anywhere else and tracks nobody."},
    {0},
};
