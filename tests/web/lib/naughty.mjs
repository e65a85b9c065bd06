// Texts that break pages which treat text as anything but text. All our own.
export const NAUGHTY = [
  '<script>alert(1)</script>', '"><script>alert(2)</script>', "'><img src=x onerror=alert(3)>", '<svg/onload=alert(4)>',
  '<img src="x" onerror="alert(5)">', '<iframe srcdoc="<script>alert(6)</script>"></iframe>', '<a href="javascript:alert(7)">click</a>',
  'javascript:alert(8)', 'data:text/html,<script>alert(9)</script>', '</textarea><script>alert(10)</script>', '</title><script>alert(11)</script>',
  '<!--<script>alert(12)//-->', '<style>*{display:none}</style>', '<link rel=stylesheet href=//x>', '<base href="//x/">',
  '<meta http-equiv=refresh content=0>', '<form action=//x><button>ok</button></form>', '<details open ontoggle=alert(13)>',
  '<math><mi xlink:href="javascript:alert(14)">', '<body onload=alert(15)>', '{{constructor.constructor("alert(16)")()}}', '${alert(17)}',
  '#{alert(18)}', '<%= alert(19) %>', "';alert(20);//", '";alert(21);//', '\\";alert(22);//', '&lt;script&gt;alert(23)&lt;/script&gt;',
  '&#60;script&#62;', '%3Cscript%3Ealert(24)%3C/script%3E', '<ScRiPt>alert(25)</sCrIpT>', '<script src=//x></script>', '<object data=//x>',
  '<embed src=//x>', '<video><source onerror=alert(26)>', '<input autofocus onfocus=alert(27)>', '<marquee onstart=alert(28)>', '<dialog open>hello</dialog>',
  '__proto__', 'constructor', 'toString', 'null', 'undefined', 'NaN', 'true', '0', '-1', '1e309', '[object Object]', '{"a":1}', '[]', "' OR '1'='1",
  '; DROP TABLE account; --', '=1+1', '+cmd|calc', '@SUM(A1)', '../../etc/passwd', 'C:\\con\\con', '%s%n%d', '%00', '\u202Ereversed', '\u200Bzero\u200Bwidth',
  'Ω≈ç√∫˜µ≤', '田中さんにあげて下さい', 'مرحبا بالعالم', '👩‍👩‍👧‍👦 🇩🇪 👍🏽', 'z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍', 'a'.repeat(95), '<b>bold</b> & <i>italic</i>', '🙂'.repeat(20),
];
