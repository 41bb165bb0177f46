from swap_dashboard.console.app import main

main()
