from swap_api.app import main

main()
